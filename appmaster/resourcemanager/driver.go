package resourcemanager

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/slotmanager"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Driver starts and ends workers: yarndriver as YARN containers, the
// minicluster as goroutines of its process.
type Driver interface {
	// Run starts and ends workers as ordered, reports what happens to them, and
	// returns when ctx ends, with nothing touched outside: workers go on. An
	// error before that means that the driver cannot go on, ever.
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
type Report func(ctx context.Context, events ...DriverEvent) error

// Orders is what a driver is to do.
type Orders struct {
	// Spec is what workers look like.
	Spec WorkerResourceSpec
	// Total is how many workers there shall have been since Run, those included
	// that have ended: the driver starts more until it has reported
	// WorkerStarting so often, and gives up starts that it has not reported when
	// Total falls. As the number counts starts and not what runs, orders and
	// reports may cross without one worker too many or too few.
	Total int
	// Release lists workers to end. One that the driver does not know any more
	// has ended already; none of these is reported completed.
	Release []Release
	// Check lists workers whose connection is lost. The driver looks soon
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

// DriverEvent is something that a Driver reports.
//
//sumtype:decl
type DriverEvent interface{ isDriverEvent() }

// NodesChanged names the nodes that could have workers now, all of them. A driver that
// does not know them never reports it.
type NodesChanged struct{ Nodes []string }

func (NodesChanged) isDriverEvent() {}

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
// which the driver tries to get what is ordered again.
type WorkersRefused struct{ Reason string }

// RefusalEnded says that workers that were refused may be had again, for all that the
// driver knows.
type RefusalEnded struct{}

// OrdersTaken says that workers are refused no more: what is ordered is going to come as soon
// as there is room. It follows RefusalEnded, once something is ordered.
type OrdersTaken struct{}

func (WorkerStarting) isDriverEvent()  {}
func (WorkerFailed) isDriverEvent()    {}
func (WorkerCompleted) isDriverEvent() {}
func (WorkersRefused) isDriverEvent()  {}
func (RefusalEnded) isDriverEvent()    {}
func (OrdersTaken) isDriverEvent()     {}
