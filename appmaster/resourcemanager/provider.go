package resourcemanager

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/slotmanager"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// WorkerProvider starts and ends workers. yarnworkers starts them as YARN containers, the
// minicluster as goroutines of its process.
type WorkerProvider interface {
	// Run starts and ends workers as ordered, and reports their events. When ctx ends, it returns
	// and leaves the workers running. An error before that means that the provider can never
	// continue.
	//
	// Run must report WorkerStarting before it starts the worker. Otherwise the worker might
	// register before the ResourceManager knows it.
	Run(ctx context.Context, report Report) error
	// Order sends new orders. Calls come one at a time, also before Run has started. A call may
	// block until ctx ends, at most for HangTime. Orders that change only Workers or Avoid are
	// skipped when newer ones are waiting.
	Order(ctx context.Context, orders Orders)
	// Deregister ends the application with its final status and diagnostics, after the released
	// workers have been told to stop. It is called at most once, after the last Order.
	Deregister(ctx context.Context, status msg.ApplicationStatus, diagnostics string) error
}

// Report passes events of workers to the ResourceManager, in order. It blocks while the
// ResourceManager is busy, and returns an error when the ResourceManager has ended.
type Report func(ctx context.Context, events ...WorkerEvent) error

// Orders are the orders of the ResourceManager to a provider.
type Orders struct {
	// Workers lists the workers to start, by kind. A kind that was ordered once stays in the list.
	Workers []WorkerOrder
	// Release lists workers to end. A worker that the provider does not know has already ended, or is of an
	// earlier master: see PreviousWorkers. The provider reports no WorkerCompleted for these workers,
	// unless they are of earlier masters.
	Release []Release
	// Check lists workers whose connection is lost. The provider checks soon whether they have
	// ended, and then reports WorkerCompleted.
	Check []ids.ResourceID
	// Avoid names the nodes on which no worker should start now, sorted. It replaces the last list.
	// The provider keeps a worker that starts there anyway.
	Avoid []string
}

// WorkerOrder is an order of workers of one kind.
type WorkerOrder struct {
	Spec WorkerResourceSpec
	// Total is the number of workers to start in all since Run, including those that have ended.
	// The provider starts workers until it has reported WorkerStarting this many times. When Total
	// falls, it cancels starts that it has not reported yet. Because Total counts starts and not
	// running workers, orders and reports may cross and the number of workers stays right.
	Total int
}

// Release names a worker to end, and the cause.
type Release = slotmanager.Release

// WorkerResourceSpec describes the resources of a worker.
type WorkerResourceSpec struct {
	MemoryMB int // of the whole process tree
	VCores   int
	Slots    int
	// Memory divides the container. The zero value serves providers that limit no memory.
	Memory memory.Worker
	// External are the external resources of the container, by their names in external-resources.
	External msg.ExternalResources
	// Profile is the resource profile of the slots.
	Profile msg.ResourceProfile
}

func (s WorkerResourceSpec) totals() config.WorkerTotals {
	return config.WorkerTotals{Slots: s.Slots, Cores: float64(s.VCores), Memory: config.Bytes(s.MemoryMB) * config.Mebibyte}
}

func (s WorkerResourceSpec) String() string {
	text := fmt.Sprintf("%d MB, %d vcores, %d slots", s.MemoryMB, s.VCores, s.Slots)
	if s.External != "" {
		text += ", " + string(s.External)
	}
	return text
}

// WorkerEvent is an event that a WorkerProvider reports.
//
//sumtype:decl
type WorkerEvent interface{ isWorkerEvent() }

// NodesChanged lists all nodes that could have workers now. A provider that does not know the nodes
// never reports it.
type NodesChanged struct{ Nodes []string }

func (NodesChanged) isWorkerEvent() {}

// PreviousWorkers lists workers of earlier masters of the application that run. The provider serves them like those that
// it has started. It reports the list once it knows it, also an empty one, and more workers that it finds later. Some that it
// has not found may run as well: it reports their ends, and takes Release of them.
type PreviousWorkers struct{ Workers []PreviousWorker }

// PreviousWorker is a worker of an earlier master.
type PreviousWorker struct {
	Worker ids.ResourceID
	Host   string
}

func (PreviousWorkers) isWorkerEvent() {}

// WorkerStarting says that the provider has room for a worker and is about to start it.
type WorkerStarting struct {
	Worker ids.ResourceID
	Spec   WorkerResourceSpec
	Host   string
}

// WorkerLaunched says that the start of a worker is under way on its node. A provider reports it for the first NotedWorkers
// workers, if it knows it.
type WorkerLaunched struct{ Worker ids.ResourceID }

// WorkerFailed says that a worker could not be started. The worker is gone.
type WorkerFailed struct {
	Worker ids.ResourceID
	Cause  string
}

// WorkerCompleted says that a worker has ended, and why.
type WorkerCompleted struct {
	Worker ids.ResourceID
	Cause  string
}

// WorkersRefused says that the provider can get no more workers of a kind now, for example because
// a worker would exceed the largest container. It holds until RefusalEnded; then the provider tries
// the current orders again.
type WorkersRefused struct {
	Spec   WorkerResourceSpec
	Reason string
}

// RefusalEnded says that the provider tries to get workers of a kind again. They may be refused
// again.
type RefusalEnded struct{ Spec WorkerResourceSpec }

// OrdersTaken says that the ordered workers of a kind are not refused any more: they come as soon
// as there is room. It follows RefusalEnded, once workers are ordered.
type OrdersTaken struct{ Spec WorkerResourceSpec }

// RoomChanged says what the provider knows of the room for ordered workers of a kind. The last one counts.
type RoomChanged struct {
	Spec WorkerResourceSpec
	Room msg.Room
}

func (WorkerStarting) isWorkerEvent()  {}
func (WorkerLaunched) isWorkerEvent()  {}
func (WorkerFailed) isWorkerEvent()    {}
func (WorkerCompleted) isWorkerEvent() {}
func (WorkersRefused) isWorkerEvent()  {}
func (RefusalEnded) isWorkerEvent()    {}
func (OrdersTaken) isWorkerEvent()     {}
func (RoomChanged) isWorkerEvent()     {}
