package taskhost

import (
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/placement"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

// event is something that happened, for core.Step.
//
//sumtype:decl
type event interface{ isEvent() }

// The events.
type (
	// told brings a message of the TaskExecutor other than DeployTasks.
	told struct{ Message msg.Message }
	// tasksDeployed brings DeployTasks. Its Producers are decoded, or Malformed says why not.
	tasksDeployed struct {
		msg.DeployTasks
		Producers *placement.Table
		Malformed error
	}
	// controlLost says that the control connection to the TaskExecutor has ended.
	controlLost struct{}
	// splitRequested says that a task has read its last split.
	splitRequested struct{ Execution ids.ExecutionAttemptID }
	// commitPrepared says that a task is about to commit, and waits for leave.
	commitPrepared struct {
		Execution ids.ExecutionAttemptID
		Winners   []string
	}
	// collected brings records of a collect sink.
	collected struct {
		Execution ids.ExecutionAttemptID
		Records   []byte
	}
	// measured brings the progress of all tasks, with all metrics of their code.
	measured struct {
		Tasks   []msg.TaskProgress
		Pool    *msg.BufferPool     // nil: nobody measures it
		HDFS    *msg.HDFSMetrics    // nil: nobody measures it
		Process *msg.ProcessMetrics // nil: nobody measures it
		Managed *msg.ManagedMemory  // nil: nobody measures it
	}
	// taskEnded says how a task has ended; it is the last event of the task. Its consumers learn of
	// a failure only after this event.
	taskEnded struct {
		Execution ids.ExecutionAttemptID
		Failure   *msg.Failure // nil: its code returned no error
		Counters  map[string]int64
		Metrics   msg.TaskMetrics
		User      *msg.UserMetrics
		// Partitions are the blocking ones; none after a failure.
		Partitions []msg.WrittenPartition
	}
	// renewed answers renew: other hosts reach this one at a new address.
	renewed struct {
		Host    ids.HostID
		Address string
	}
	// renewalFailed answers renew, and says why there is no data plane any more.
	renewalFailed struct{ Cause string }
	// woken says that the time of the core's alarm has come.
	woken struct{}
)

func (told) isEvent()           {}
func (tasksDeployed) isEvent()  {}
func (controlLost) isEvent()    {}
func (splitRequested) isEvent() {}
func (commitPrepared) isEvent() {}
func (collected) isEvent()      {}
func (measured) isEvent()       {}
func (taskEnded) isEvent()      {}
func (renewed) isEvent()        {}
func (renewalFailed) isEvent()  {}
func (woken) isEvent()          {}

// effect is an action that core.Step asks for.
//
//sumtype:decl
type effect interface{ isEffect() }

// The effects.
type (
	// send sends a message to the TaskExecutor.
	send struct{ Message msg.Message }
	// startTasks starts tasks, each in its own goroutine.
	startTasks struct{ Tasks []deployment }
	// cancelTask ends a task's context.
	cancelTask struct{ Execution ids.ExecutionAttemptID }
	// assignSplit answers a task's splitRequested; nil means that none is left.
	assignSplit struct {
		Execution ids.ExecutionAttemptID
		Split     *jobgraph.Split
	}
	// giveLeave answers a task's commitPrepared.
	giveLeave struct{ Execution ids.ExecutionAttemptID }
	// acknowledge says that this number of batches of a task was acknowledged.
	acknowledge struct {
		Execution ids.ExecutionAttemptID
		Batches   int
	}
	// setMemory sets the memory limit of the host, and the memory of its end of the data plane.
	setMemory struct{ Memory memory.Slot }
	// updateTokens replaces the tokens of the file systems.
	updateTokens struct{ Tokens msg.Secret }
	// answerInquiry answers a question about this process.
	answerInquiry msg.Inquire
	// reportStuck logs that cancelled tasks still run, and where.
	reportStuck struct{ Tasks []stuckTask }
	// removePartitions removes the files of a task that has succeeded, but counts as cancelled: nobody learns of them.
	removePartitions struct {
		Execution  ids.ExecutionAttemptID
		Partitions []msg.WrittenPartition
	}
	// renew opens the host's end of the data plane anew, under another id, when no task is left.
	renew struct{ Host ids.HostID }
	// giveUp ends the host because a cancelled task does not end. No effect follows.
	giveUp struct{ Execution ids.ExecutionAttemptID }
	// fail ends the host because it cannot run tasks any more. No effect follows.
	fail struct{ Cause string }
	// end ends the host. No effect follows.
	end struct{ Reason endReason }
)

func (send) isEffect()             {}
func (startTasks) isEffect()       {}
func (cancelTask) isEffect()       {}
func (assignSplit) isEffect()      {}
func (giveLeave) isEffect()        {}
func (acknowledge) isEffect()      {}
func (setMemory) isEffect()        {}
func (updateTokens) isEffect()     {}
func (answerInquiry) isEffect()    {}
func (reportStuck) isEffect()      {}
func (removePartitions) isEffect() {}
func (renew) isEffect()            {}
func (giveUp) isEffect()           {}
func (fail) isEffect()             {}
func (end) isEffect()              {}

// endReason is why a host ends without a failure.
type endReason int

const (
	toldToStop endReason = iota + 1
	abandoned            // the TaskExecutor has ended
)

func (r endReason) String() string {
	switch r {
	case toldToStop:
		return "told to stop"
	case abandoned:
		return "abandoned"
	}
	return "unknown"
}

// stuckTask is a task that still runs, some time after it was cancelled.
type stuckTask struct {
	Execution ids.ExecutionAttemptID
	For       time.Duration
}

// deployment is one task to run, with its inputs and outputs.
type deployment struct {
	Execution ids.ExecutionAttemptID
	Memory    int64 // bytes
	Inputs    []input
	Winners   []string // of a task that commits again, which reads no input; nil: it is none
	Outputs   []output
}

// output is one output of a task.
type output struct {
	Channels int
	Blocking bool
}

// input is one input of a task: one producer, or one channel of all producers.
type input struct {
	One     []exchange.Producer
	All     *exchange.Sources
	Channel int
}
