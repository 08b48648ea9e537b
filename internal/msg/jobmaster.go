package msg

import (
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Messages between a TaskExecutor and a JobMaster, over one stream for each job
// that has a slot there. The TaskExecutor passes those about tasks on to and
// from the job's host over its control socket, unchanged.

// RegisterAtJobMaster is the first message of a TaskExecutor to a JobMaster.
type RegisterAtJobMaster struct {
	Resource ids.ResourceID
	Host     string
}

// RegisteredAtJobMaster admits a TaskExecutor and tells what its host needs to
// build the job's tasks.
type RegisteredAtJobMaster struct {
	JobMaster ids.JobMasterID
	Job       JobSpec
	// Tasks is the number of the job's tasks: of messages there is a handful for each,
	// and of those no more can wait for who does not take them.
	Tasks             int
	HeartbeatInterval time.Duration
	HeartbeatTimeout  time.Duration
}

// JobSpec lets a task host build the tasks of a job: it decodes the arguments,
// runs the plan function and compares the digests.
type JobSpec struct {
	ID     ids.JobID
	Job    string // name of the plan function
	Name   string
	Args   []byte // JSON
	Digest string
	// Parallelism is the default that the plan was made with.
	Parallelism int
	Config      map[string]string
}

// OfferSlots offers granted slots to their JobMaster.
type OfferSlots struct{ Offers []SlotOffer }

// SlotOffer is one slot granted by the ResourceManager, and the name of the grant.
type SlotOffer struct {
	Index      int
	Allocation ids.AllocationID
}

// SlotOffersAnswered says which offers the JobMaster takes; the rest are freed.
type SlotOffersAnswered struct{ Accepted, Rejected []ids.AllocationID }

// FreeSlots gives slots back; the last one of a job ends its host.
type FreeSlots struct {
	Allocations []ids.AllocationID
	Cause       string
}

// HostReady says that the job's host on this worker has built the job's tasks
// and takes connections of other hosts at DataAddress.
type HostReady struct {
	Host        ids.HostID
	DataAddress string // host:port
}

// HostLost says that a host takes no tasks any more though its job has not ended:
// all its tasks are gone.
type HostLost struct {
	Host    ids.HostID // "" where no host could be started
	Failure Failure    // how it ended, with its last lines of output
	Reason  HostLostReason
}

// HostLostReason tells the ends of hosts apart by what follows them.
type HostLostReason string

// The reasons of HostLost.
const (
	// HostFailed is the end of a host by itself or for what it did. The TaskExecutor
	// starts another, which a new HostReady announces, unless the Failure is permanent:
	// the program says that it cannot build the job.
	HostFailed HostLostReason = ""
	// HostStopped says that the TaskExecutor ends the host, as the job has no slot there
	// any more or the worker ends: nothing that ran in it is to blame. It is told before
	// the host has ended; if the job gets a slot there again, another host follows it.
	HostStopped HostLostReason = "stopped"
	// HostUnavailable says that the worker can have no host of the job: the program could
	// not be fetched, or hosts ended before they were ready, and trying again did not
	// help. The fault may be the node's. No other host is started until the job has given
	// its slots there back.
	HostUnavailable HostLostReason = "unavailable"
)

// DeployTasks starts tasks in a host. Placements names the producers of every
// input of these tasks.
type DeployTasks struct {
	Host       ids.HostID
	Tasks      []TaskDeployment
	Placements []VertexPlacement
	Hosts      []HostAddress
}

// TaskDeployment is one subtask to start.
type TaskDeployment struct {
	Execution  ids.ExecutionAttemptID
	Allocation ids.AllocationID
	// MemoryMB is what the task's operators may hold.
	MemoryMB int
}

// HostAddress is a host and where its data plane listens.
type HostAddress struct {
	Host        ids.HostID
	DataAddress string
}

// VertexPlacement tells where the subtasks of a vertex run: subtask i is
// attempt Attempts[i] in the host DeployTasks.Hosts[HostIndex[i]]. HostIndex[i]
// is -1 for a subtask that none of the tasks reads from.
type VertexPlacement struct {
	Vertex    int
	Attempts  []int
	HostIndex []int
}

// CancelTasks ends tasks; each reports a final state.
type CancelTasks struct{ Executions []ids.ExecutionAttemptID }

// TaskStatesChanged reports new states of tasks of one host, in their order.
type TaskStatesChanged struct{ Changes []TaskStateChange }

// TaskStateChange is a task's new state; Failure only with FAILED, Counters and
// traffic only with final states.
type TaskStateChange struct {
	Execution ids.ExecutionAttemptID
	State     ExecutionState
	Failure   *Failure
	Counters  map[string]int64
	Traffic   Traffic
}

// Traffic counts what a task read and wrote: from and to other tasks, and the
// bytes of files.
type Traffic struct {
	ReadRecords, WriteRecords int64
	ReadBytes, WriteBytes     int64
}

// TasksProgress reports counters of all tasks that a host runs, now and then, if any
// has changed.
type TasksProgress struct{ Tasks []TaskProgress }

// TaskProgress is how far a running task is.
type TaskProgress struct {
	Execution ids.ExecutionAttemptID
	Traffic   Traffic
}

// RequestSplit asks for the next split of a source task.
type RequestSplit struct{ Execution ids.ExecutionAttemptID }

// SplitAssigned answers RequestSplit; no Split means that none is left.
type SplitAssigned struct {
	Execution ids.ExecutionAttemptID
	Split     *jobgraph.Split
}

// CollectBatch carries records of a collect sink on their way to the client.
type CollectBatch struct {
	Execution ids.ExecutionAttemptID
	Sequence  int64 // from 0 in each attempt
	Records   []byte
}

// CollectAcknowledged says that the JobMaster holds or has passed on the batch
// and has room for another.
type CollectAcknowledged struct {
	Execution ids.ExecutionAttemptID
	Sequence  int64
}

func (RegisterAtJobMaster) isMessage()   {}
func (RegisteredAtJobMaster) isMessage() {}
func (OfferSlots) isMessage()            {}
func (SlotOffersAnswered) isMessage()    {}
func (FreeSlots) isMessage()             {}
func (HostReady) isMessage()             {}
func (HostLost) isMessage()              {}
func (DeployTasks) isMessage()           {}
func (CancelTasks) isMessage()           {}
func (TaskStatesChanged) isMessage()     {}
func (TasksProgress) isMessage()         {}
func (RequestSplit) isMessage()          {}
func (SplitAssigned) isMessage()         {}
func (CollectBatch) isMessage()          {}
func (CollectAcknowledged) isMessage()   {}
