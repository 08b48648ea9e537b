package msg

import (
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
)

// Messages between a TaskExecutor and the ResourceManager, over one stream.

// RegisterTaskExecutor is the first message of a TaskExecutor. The TaskExecutor sends it
// again after each reconnection.
type RegisterTaskExecutor struct {
	ProtocolVersion int
	Resource        ids.ResourceID
	Host            string // the node's name in YARN
	PID             int    // for users, in logs and REST
	Slots           []SlotStatus
	Profile         ResourceProfile // of the slots
	Memory          memory.Worker   // the division of the container
	VCores          int             // of the container
	Hardware        Hardware
	// Jobs are those whose blocking partitions the worker serves, at most MaxServedJobs. See PreviousWorkersReturned.
	Jobs []ids.JobID
}

// Hardware is what the machine of a TaskExecutor has. Other containers use it too.
type Hardware struct {
	Cores  int
	Memory config.Bytes
}

// mostCores bounds the cores of a machine, so that no page shows nonsense.
const mostCores = 1 << 20

// MaxServedJobs bounds RegisterTaskExecutor.Jobs. A worker with so many may have partitions of further jobs.
const MaxServedJobs = 100

// Check refuses values that no honest TaskExecutor sends.
func (r RegisterTaskExecutor) Check() error {
	h := r.Hardware
	if r.VCores < 0 || r.VCores > mostCores || h.Cores < 0 || h.Cores > mostCores || h.Memory < 0 {
		return fmt.Errorf("%d vcores on a machine with %d cores and %d bytes of memory: %w", r.VCores, h.Cores, h.Memory, errImplausible)
	}
	if len(r.Jobs) > MaxServedJobs {
		return fmt.Errorf("partitions of %d jobs: %w", len(r.Jobs), errImplausible)
	}
	if err := errors.Join(r.Memory.Check(), r.Profile.Check()); err != nil {
		return fmt.Errorf("%w: %w", err, errImplausible)
	}
	return nil
}

// errImplausible says that a TaskExecutor's description of itself cannot be true.
var errImplausible = errors.New("the registration cannot be true")

// TaskExecutorRegistered says that the ResourceManager has registered a TaskExecutor.
type TaskExecutorRegistered struct {
	Instance          ids.InstanceID
	ResourceManager   ids.ResourceManagerID
	HeartbeatInterval time.Duration
	HeartbeatTimeout  time.Duration
	// Workers is the number of workers, registered or expected. If all of them look for a new leader at a time, they wait
	// the longer between two looks, the more they are. Each Heartbeat has the present number: the first of ten thousand
	// workers would look as often as if it were alone.
	Workers int
}

// RegistrationRejected refuses a TaskExecutor for good. The TaskExecutor ends itself, unless it knows a later
// ResourceManager.
type RegistrationRejected struct {
	ResourceManager ids.ResourceManagerID
	Reason          string
}

// SlotReport lists the slots of the TaskExecutor. It is sent with every heartbeat.
type SlotReport struct {
	Slots   []SlotStatus
	Metrics *WorkerMetrics // nil: as before
	// Partitions says that the worker serves blocking partitions of some job. An idle worker that does so stays.
	Partitions bool
}

// SlotStatus is the state of one slot of a TaskExecutor. A free slot has no allocation.
type SlotStatus struct {
	Index      int
	Allocation ids.AllocationID
	Job        ids.JobID
}

// RequestSlots grants slots of the TaskExecutor to a job: all slots that are granted at a
// time. The TaskExecutor fetches the job's program if it does not have it, starts the job's
// host, connects to the JobMaster and offers it the slots.
type RequestSlots struct {
	Slots     []SlotOffer
	Job       ids.JobID
	JobMaster ids.JobMasterID
	Program   Program
	Profile   ResourceProfile // of the slots, which is that of all slots of the worker
	// Memory is the share of the container's memory that comes with each slot.
	Memory memory.Slot
}

// Program names the executable of a job.
type Program struct {
	Name   string // file name for users; no path
	SHA256 string // of its bytes, lower-case hex; identifies the program
	URI    string // qualified URI of the staged file; "" in local mode
}

// SlotRequestsAnswered says which allocations of one RequestSlots the TaskExecutor took and
// which it refused.
type SlotRequestsAnswered struct {
	Taken   []SlotOffer
	Refused []SlotRefusal
}

// SlotRefusal is an allocation that the TaskExecutor refused, and the reason.
type SlotRefusal struct {
	SlotOffer
	Reason string
}

// SlotsFreed says that slots are free again.
type SlotsFreed struct{ Slots []SlotOffer }

// ReleaseTaskExecutor tells a TaskExecutor to end: it is idle or given up, or YARN says that its container
// has ended.
type ReleaseTaskExecutor struct{ Cause string }

func (RegisterTaskExecutor) isMessage()   {}
func (TaskExecutorRegistered) isMessage() {}
func (RegistrationRejected) isMessage()   {}
func (SlotReport) isMessage()             {}
func (RequestSlots) isMessage()           {}
func (SlotRequestsAnswered) isMessage()   {}
func (SlotsFreed) isMessage()             {}
func (ReleaseTaskExecutor) isMessage()    {}

// Messages between a JobMaster and the ResourceManager, within the AM.

// RegisterJobMaster registers a job at the ResourceManager.
type RegisterJobMaster struct {
	Job       ids.JobID
	JobMaster ids.JobMasterID
	Program   Program
}

// JobMasterRegistered says that the ResourceManager has registered a JobMaster.
type JobMasterRegistered struct{ ResourceManager ids.ResourceManagerID }

// DeclareRequirements says how many slots a job needs now. It replaces the last one.
type DeclareRequirements struct {
	Job       ids.JobID
	JobMaster ids.JobMasterID
	Number    int        // from 1, one more each time
	Needs     []SlotNeed // one for each profile of the job
}

// SlotNeed is the total number of slots of one profile that a job needs. 0 gives all these slots back.
type SlotNeed struct {
	Profile ResourceProfile
	Slots   int
	// Least is the number of slots with which some part of the job that needs slots of this
	// profile can run; other parts then use the same slots. 0: the job needs all slots at once.
	// A job asks with a larger number whether it could ever have the slots of its largest part.
	Least int
	// Part is how many of these slots the largest part of the job needs, together with the Part of
	// each other profile.
	Part int
	// Later is how many of these slots a part of the job needs at most that waits for its inputs. It counts only
	// if the job needs slots of several profiles: workers that serve the inputs give no room to others.
	Later int
}

// NotEnoughResources says that no part of a job can run, or not the largest one. The ResourceManager can
// get no more workers, for example because one would exceed YARN's maximum, and the present workers have
// fewer slots for the job than Least. If the job needs slots of several profiles, they have fewer than Part.
// It is sent once for each profile, and again after each BlockNodes or DeclareRequirements of the job while
// this lasts, and when it begins again.
type NotEnoughResources struct {
	Job     ids.JobID
	Profile ResourceProfile // of the slots
	Reason  string
	// NodesBlocked is true if the job had blocked nodes. Their slots did not count.
	NodesBlocked bool
	// Answers is the Number of the last declaration. After a later one, the message is out of date.
	Answers int
}

// TaskExecutorTerminated tells JobMasters that a worker has ended, with the cause if YARN
// knows it.
type TaskExecutorTerminated struct {
	Resource ids.ResourceID
	Cause    string
}

// PreviousWorkersReturned tells a JobMaster, once, that all workers of earlier masters that YARN has listed have registered or ended.
type PreviousWorkersReturned struct {
	Job ids.JobID
	// Workers are those of earlier masters that may have had blocking partitions of the job when they registered.
	Workers []ids.ResourceID
}

func (RegisterJobMaster) isMessage()       {}
func (JobMasterRegistered) isMessage()     {}
func (DeclareRequirements) isMessage()     {}
func (NotEnoughResources) isMessage()      {}
func (TaskExecutorTerminated) isMessage()  {}
func (PreviousWorkersReturned) isMessage() {}
