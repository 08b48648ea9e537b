package msg

import (
	"bytes"
	"maps"
	"slices"
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
	Profile  ResourceProfile // of the worker's slots
	// PartitionAddress is where the worker serves finished partitions, host:port. "": it serves none.
	PartitionAddress string
}

// RegisteredAtJobMaster says that the JobMaster has registered a TaskExecutor. It holds
// the input with which the host builds the job's tasks.
type RegisteredAtJobMaster struct {
	JobMaster ids.JobMasterID
	Job       JobSpec
	// Tasks is the number of the job's tasks. It bounds the messages that may wait for
	// the peer, because each task causes only a few.
	Tasks             int
	HeartbeatInterval time.Duration
	HeartbeatTimeout  time.Duration
}

// JobSpec is the input with which a task host builds the tasks of a job. The host decodes
// the arguments, runs the plan function and compares the digests.
type JobSpec struct {
	ID     ids.JobID
	Job    string // name of the plan function
	Name   string
	Args   []byte // JSON
	Digest string
	// Parallelism is the default parallelism of the plan.
	Parallelism int
	Config      map[string]string
	// Files are the files that the worker copies before it tells the host its job.
	Files []jobgraph.CachedFile
}

// Equal tells whether a host that was built from one of the two specs can run the tasks of the other one.
func (s JobSpec) Equal(other JobSpec) bool {
	return s.ID == other.ID && s.Job == other.Job && s.Name == other.Name && bytes.Equal(s.Args, other.Args) &&
		s.Digest == other.Digest && s.Parallelism == other.Parallelism && maps.Equal(s.Config, other.Config) && slices.Equal(s.Files, other.Files)
}

// OfferSlots offers granted slots to their JobMaster.
type OfferSlots struct{ Offers []SlotOffer }

// SlotOffer is one slot granted by the ResourceManager, with the id of the grant.
type SlotOffer struct {
	Index      int
	Allocation ids.AllocationID
}

// SlotOffersAnswered says which offers the JobMaster accepts. The TaskExecutor frees the
// others.
type SlotOffersAnswered struct{ Accepted, Rejected []ids.AllocationID }

// FreeSlots gives slots back. When a job's last slot is freed, its host ends.
type FreeSlots struct {
	Allocations []ids.AllocationID
	Cause       string
}

// HostReady says that the job's host on this worker has built the job's tasks and accepts
// connections of other hosts at DataAddress.
type HostReady struct {
	Host        ids.HostID
	DataAddress string // host:port
}

// HostLost says that a host takes no more tasks although its job has not ended. All its
// tasks are lost.
type HostLost struct {
	Host    ids.HostID // "" if no host could be started
	Failure Failure    // how it ended, with its last lines of output
	Reason  HostLostReason
}

// HostLostReason says why a host is lost and what follows.
type HostLostReason string

// The reasons of HostLost.
const (
	// HostFailed says that the host ended by itself or was ended for a fault of its own.
	// The TaskExecutor starts another host, which a new HostReady announces. It does not
	// if the Failure is permanent: then the program cannot build the job, or it or a cached
	// file has changed or is gone, or the worker has got no valid delegation token to fetch it.
	HostFailed HostLostReason = ""
	// HostStopped says that the TaskExecutor ends the host, because the job has no slot
	// there any more or the worker ends. The host's tasks are not at fault. The message
	// is sent before the host has ended. If the job gets a slot there again, another host
	// starts.
	HostStopped HostLostReason = "stopped"
	// HostUnavailable says that the worker cannot start a host of the job: it could not
	// fetch the program, or hosts ended before they were ready, and retries failed too.
	// The node may be the cause. The worker starts no other host until the job has given back
	// its slots there.
	HostUnavailable HostLostReason = "unavailable"
	// HostFull says that the TaskExecutor has ended the host, because it serves so many
	// partitions of other jobs that it has no room for those of this job. Neither the job nor the
	// node is at fault. The worker starts no other host until the job has given back its slots
	// there.
	HostFull HostLostReason = "full"
)

// DeployTasks starts tasks in a host.
type DeployTasks struct {
	Host  ids.HostID
	Tasks []TaskDeployment
	// Producers says where the producers of every input of these tasks run, as package placement
	// encodes it. All messages of a deployment share these bytes. nil: the tasks have no inputs.
	Producers []byte
	// Blocking says that the JobMaster has made all exchanges of the job blocking, because the cluster has not enough slots
	// for them to be pipelined. Otherwise each edge is as the graph says.
	Blocking bool `cbor:",omitempty"`
}

// TaskDeployment is one subtask to start.
type TaskDeployment struct {
	Execution  ids.ExecutionAttemptID
	Allocation ids.AllocationID
	// Winners are what a commit task commits, because an earlier attempt got leave for them: see CommitPrepared. The
	// task then reads no input and asks for no leave. nil: the task runs as any other.
	Winners []string `cbor:",omitempty"`
	// Inputs identifies the attempts whose blocking partitions the task reads, for a later HeldPartitions: one number for each
	// blocking edge into its vertex. Of a source task it is one number, to which the TaskExecutor adds the Lineage of each split that
	// the task gets.
	Inputs []uint64 `cbor:",omitempty"`
}

// CancelTasks cancels tasks. Each task reports a final state.
type CancelTasks struct{ Executions []ids.ExecutionAttemptID }

// TaskStatesChanged reports new states of the tasks of one host, in the order of the
// changes.
type TaskStatesChanged struct{ Changes []TaskStateChange }

// TaskStateChange is a task's new state. Failure is set only with FAILED, Counters, Metrics
// and User only with final states.
type TaskStateChange struct {
	Execution ids.ExecutionAttemptID
	State     ExecutionState
	Failure   *Failure
	Counters  map[string]int64
	Metrics   TaskMetrics
	User      *UserMetrics `cbor:",omitempty"` // nil: the code has made none
	// Partitions are the blocking partitions that the task has written, by output. They are set only with FINISHED.
	Partitions []WrittenPartition `cbor:",omitempty"`
	// Inputs are TaskDeployment.Inputs. Only a TaskExecutor sets them, in HeldPartitions.
	Inputs []uint64 `cbor:",omitempty"`
}

// A TaskStateChange takes at most changeSize bytes without its texts, counters, users' metrics, partitions and inputs. A partition of it
// takes partitionSize bytes more, and an input inputSize.
const changeSize, partitionSize, inputSize = 512, 64, 9

// Size estimates the most that the change takes, in memory or in a message, in bytes.
func (c TaskStateChange) Size() int {
	size := changeSize + c.User.WireSize() + len(c.Partitions)*partitionSize + len(c.Inputs)*inputSize
	if c.Failure != nil {
		size += len(c.Failure.Message) + len(c.Failure.Stack)
	}
	for name := range c.Counters {
		size += CounterBytes + len(name)
	}
	return size
}

// WrittenPartition is a blocking partition that a task has written completely. The worker of the task serves it until
// ReleasePartitions, the end of the job, or its own end.
type WrittenPartition struct {
	_       struct{} `cbor:",toarray"`
	Output  int      // of the task
	Dir     int      // index in StartHost.PartitionDirs
	Records int64
	Bytes   int64 // of the file
}

// HeldPartitions tells a JobMaster which tasks of the job have finished under an earlier connection, also under an earlier
// ApplicationMaster, with the blocking partitions that the worker still serves. It follows RegisteredAtJobMaster, before the
// worker offers slots, in one or more messages of at most MaxHeld tasks. Tasks without partitions may be missing.
type HeldPartitions struct {
	Tasks []TaskStateChange // FINISHED
	Last  bool              // no further message follows
}

// MaxHeld bounds the tasks of one HeldPartitions.
const MaxHeld = 1000

// ReleasePartitions says that no task reads these partitions any more, so the worker removes them.
type ReleasePartitions struct{ Partitions []ids.PartitionID }

// TasksProgress reports the metrics of those tasks of a host for which they have changed since the last report: see
// TaskMetrics.Changed. It has at most MaxProgress tasks, and MaxProgressMetrics of users' metrics. The interval between two reports grows with the job: see ProgressInterval. A report that waits takes in an
// older one: see Join.
type TasksProgress struct{ Tasks []TaskProgress }

// TaskProgress is the progress of a running task. It is an array on the wire, as its parts are,
// because there are many.
type TaskProgress struct {
	_         struct{} `cbor:",toarray"`
	Execution ids.ExecutionAttemptID
	Metrics   TaskMetrics
	User      *UserMetrics // nil: they are as last reported
}

// RequestSplit asks for the next split of a source task.
type RequestSplit struct{ Execution ids.ExecutionAttemptID }

// SplitAssigned answers RequestSplit. A nil Split means that none is left.
type SplitAssigned struct {
	Execution ids.ExecutionAttemptID
	Split     *jobgraph.Split
	Lineage   uint64 `cbor:",omitempty"` // identifies the split: see TaskDeployment.Inputs
}

// CollectWindow is the number of batches that a task may send before the first of them is
// acknowledged.
const CollectWindow = 4

// CollectBatch carries records of a collect sink to the JobMaster, for the client.
type CollectBatch struct {
	Execution ids.ExecutionAttemptID
	Sequence  int64 // from 0 in each attempt
	Records   []byte
}

// CollectAcknowledged says that the JobMaster has taken the batch and has room for
// another one.
type CollectAcknowledged struct {
	Execution ids.ExecutionAttemptID
	Sequence  int64
}

// CommitPrepared reports what a commit task is about to commit, and asks for leave. Once the JobMaster has given leave,
// every later attempt of the task gets the same winners.
type CommitPrepared struct {
	Execution ids.ExecutionAttemptID
	// Winners are the committables of the parts that are the output, by subtask of the vertex that has written them. Only the
	// commit task reads them. They have at most jobgraph.MaxCommittable bytes, and together jobgraph.MaxCommittables.
	Winners []string
}

// CommitGranted answers CommitPrepared: the task may commit. There is no refusal; the JobMaster cancels the task.
type CommitGranted struct{ Execution ids.ExecutionAttemptID }

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
func (HeldPartitions) isMessage()        {}
func (ReleasePartitions) isMessage()     {}
func (RequestSplit) isMessage()          {}
func (SplitAssigned) isMessage()         {}
func (CollectBatch) isMessage()          {}
func (CollectAcknowledged) isMessage()   {}
func (CommitPrepared) isMessage()        {}
func (CommitGranted) isMessage()         {}
