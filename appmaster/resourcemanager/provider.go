package resourcemanager

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/slotmanager"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// WorkerProvider starts and ends workers: yarnworkers as YARN containers, the
// minicluster as goroutines of its process.
type WorkerProvider interface {
	// Run starts and ends workers as ordered, reports what happens to them, and
	// returns when ctx ends, with nothing touched outside: workers go on. An
	// error before that means that the provider cannot go on, ever.
	//
	// WorkerStarting must be reported before its worker is started, or a worker
	// might register that the ResourceManager does not know.
	Run(ctx context.Context, report Report) error
	// Order gives new orders. Calls come one at a time, from before Run has got
	// under way too; a call may block until ctx ends, after HangTime at the latest.
	// Orders that were only a new Total or Avoid are left out when newer ones are there.
	Order(ctx context.Context, orders Orders)
	// Deregister ends the application, with how it ended and why, after the
	// workers that were released have been told to stop. It is called at most
	// once, after the last Order.
	Deregister(ctx context.Context, status msg.ApplicationStatus, diagnostics string) error
}

// Report takes what has happened to workers, in order. It blocks while the
// ResourceManager has too much to do, and gives an error when it has ended.
type Report func(ctx context.Context, events ...WorkerEvent) error

// Orders is what a provider is to do.
type Orders struct {
	// Spec is what workers look like.
	Spec WorkerResourceSpec
	// Total is how many workers there shall have been since Run, those included
	// that have ended: the provider starts more until it has reported
	// WorkerStarting so often, and gives up starts that it has not reported when
	// Total falls. As the number counts starts and not what runs, orders and
	// reports may cross without one worker too many or too few.
	Total int
	// Release lists workers to end. One that the provider does not know any more
	// has ended already; none of these is reported completed.
	Release []Release
	// Check lists workers whose connection is lost. The provider looks soon
	// whether they have ended, and reports WorkerCompleted if so.
	Check []ids.ResourceID
	// Avoid names the nodes on which no worker is to be started for now, sorted; it replaces
	// the last one. A worker that comes there all the same is kept.
	Avoid []string
}

// Release says which worker to end and why.
type Release = slotmanager.Release

// WorkerResourceSpec is what a worker has.
type WorkerResourceSpec struct {
	MemoryMB int // of the whole process tree
	VCores   int
	Slots    int
}

func (s WorkerResourceSpec) String() string {
	return fmt.Sprintf("%d MB, %d vcores, %d slots", s.MemoryMB, s.VCores, s.Slots)
}

// WorkerEvent is something that a WorkerProvider reports.
//
//sumtype:decl
type WorkerEvent interface{ isWorkerEvent() }

// NodesChanged names the nodes that could have workers now, all of them. A provider that
// does not know them never reports it.
type NodesChanged struct{ Nodes []string }

func (NodesChanged) isWorkerEvent() {}

// WorkerStarting says that there is room for a worker and that it is going to be
// started.
type WorkerStarting struct {
	Worker ids.ResourceID
	Host   string
}

// WorkerFailed says that a worker could not be started. It is gone.
type WorkerFailed struct {
	Worker ids.ResourceID
	Cause  string
}

// WorkerCompleted says that a worker has ended, and why.
type WorkerCompleted struct {
	Worker ids.ResourceID
	Cause  string
}

// WorkersRefused says that no more workers of the spec that was ordered can be had
// now: one would exceed the largest container, say. It holds until RefusalEnded, after
// which the provider tries to get what is ordered again.
type WorkersRefused struct{ Reason string }

// RefusalEnded says that workers that were refused may be had again, for all that the
// provider knows.
type RefusalEnded struct{}

// OrdersTaken says that workers are refused no more: what is ordered is going to come as soon
// as there is room. It follows RefusalEnded, once something is ordered.
type OrdersTaken struct{}

func (WorkerStarting) isWorkerEvent()  {}
func (WorkerFailed) isWorkerEvent()    {}
func (WorkerCompleted) isWorkerEvent() {}
func (WorkersRefused) isWorkerEvent()  {}
func (RefusalEnded) isWorkerEvent()    {}
func (OrdersTaken) isWorkerEvent()     {}
