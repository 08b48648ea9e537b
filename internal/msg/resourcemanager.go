package msg

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Messages between a TaskExecutor and the ResourceManager, over one stream.

// RegisterTaskExecutor is the first message of a TaskExecutor, sent again after
// each reconnection.
type RegisterTaskExecutor struct {
	ProtocolVersion int
	Resource        ids.ResourceID
	Host            string // the node's name as YARN knows it
	PID             int    // for people, in logs and REST
	Slots           []SlotStatus
	MemoryMB        int // of the container
	VCores          int
}

// TaskExecutorRegistered admits a TaskExecutor.
type TaskExecutorRegistered struct {
	Instance          ids.InstanceID
	ResourceManager   ids.ResourceManagerID
	HeartbeatInterval time.Duration
	HeartbeatTimeout  time.Duration
}

// RegistrationRejected refuses a TaskExecutor for good: it ends itself.
type RegistrationRejected struct{ Reason string }

// SlotReport is what the TaskExecutor holds, sent with every heartbeat.
type SlotReport struct{ Slots []SlotStatus }

// SlotStatus is one slot as the TaskExecutor knows it; a free slot has no
// allocation.
type SlotStatus struct {
	Index      int
	Allocation ids.AllocationID
	Job        ids.JobID
}

// RequestSlots grants slots of the TaskExecutor to a job, all that it is granted at a
// time: the TaskExecutor fetches the job's program where that is not there, starts the
// job's host from it, connects to the JobMaster and offers the slots there.
type RequestSlots struct {
	Slots     []SlotOffer
	Job       ids.JobID
	JobMaster ids.JobMasterID
	Program   Program
	// MemoryMB is the share of the container's memory that comes with each slot.
	MemoryMB int
}

// Program names the executable of a job.
type Program struct {
	Name   string // file name, for people; no path
	SHA256 string // of its bytes, lower-case hex: what tells programs apart
	URI    string // where it is staged, qualified; "" in local mode
}

// SlotRequestsAnswered tells which allocations of one RequestSlots the TaskExecutor
// took and which it refused.
type SlotRequestsAnswered struct {
	Taken   []SlotOffer
	Refused []SlotRefusal
}

// SlotRefusal is an allocation that the TaskExecutor did not take, and why.
type SlotRefusal struct {
	SlotOffer
	Reason string
}

// SlotsFreed says that slots are free again.
type SlotsFreed struct{ Slots []SlotOffer }

// ReleaseTaskExecutor tells an idle or unwanted TaskExecutor to end itself.
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

// RegisterJobMaster makes a job known to the ResourceManager.
type RegisterJobMaster struct {
	Job       ids.JobID
	JobMaster ids.JobMasterID
	Program   Program
}

// JobMasterRegistered admits a JobMaster.
type JobMasterRegistered struct{ ResourceManager ids.ResourceManagerID }

// DeclareRequirements is the total number of slots that a job needs now; it
// replaces the last one, and 0 gives all back.
type DeclareRequirements struct {
	Job       ids.JobID
	JobMaster ids.JobMasterID
	Slots     int
	// Least is how many of them are enough for some part of the job to run; the other
	// parts follow in the same slots. 0: it needs all of them at once.
	Least int
}

// NotEnoughResources says that nothing of a job will run: no more workers can be had, as
// one would exceed YARN's maximum, say, and those that there are have fewer slots for it
// than the least it needs. It is told once, and again after each BlockNodes or
// DeclareRequirements of the job while it is so.
type NotEnoughResources struct {
	Job    ids.JobID
	Reason string
	// NodesBlocked says that the job had blocked nodes, and that their slots did not count.
	NodesBlocked bool
}

// TaskExecutorTerminated tells JobMasters that a worker is gone, and why as far
// as YARN knows.
type TaskExecutorTerminated struct {
	Resource ids.ResourceID
	Cause    string
}

func (RegisterJobMaster) isMessage()      {}
func (JobMasterRegistered) isMessage()    {}
func (DeclareRequirements) isMessage()    {}
func (NotEnoughResources) isMessage()     {}
func (TaskExecutorTerminated) isMessage() {}
