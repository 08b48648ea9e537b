package jobmaster

import (
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/commitrecord"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// event is something that happened, for core.Step.
//
//sumtype:decl
type event interface{ isEvent() }

// The events.
type (
	// started is the first event, once.
	started struct{}
	// resourceManagerSaid brings JobMasterRegistered, NotEnoughResources,
	// AllNodesBlocked, PreviousWorkersReturned or TaskExecutorTerminated.
	resourceManagerSaid struct{ Message msg.Message }
	// taskExecutorSaid brings a message of a TaskExecutor. The connection has already dropped
	// messages with the fencing token of another grant of leadership.
	taskExecutorSaid struct {
		From    actor.Peer
		Message msg.Message
	}
	// taskExecutorDisconnected says that a connection is lost.
	taskExecutorDisconnected struct {
		From  actor.Peer
		Cause string
	}
	// commitStored is the result of storeCommit. Err is an error that no retry mends: nothing is stored.
	commitStored struct {
		Region int
		Err    error
	}
	// cancelAsked asks for the end of the job. It has no effect on a job that is ending.
	cancelAsked struct{}
	// woken says that the time of the core's alarm has come.
	woken struct{}
	// detailsAsked asks for the job's description, overviewAsked for its row in a list of jobs.
	detailsAsked struct {
		Question actor.Question[msg.JobDetails]
	}
	overviewAsked struct {
		Question actor.Question[msg.JobOverview]
	}
	// subtasksAsked asks for the subtasks of a vertex, by its public id.
	subtasksAsked struct {
		Vertex   string
		Question actor.Question[subtasksAnswer]
	}
	// pageAsked asks for a page of a collected result.
	pageAsked struct {
		Name     string
		Cursor   int64
		Question actor.Question[pageAnswer]
	}
)

func (started) isEvent()                  {}
func (resourceManagerSaid) isEvent()      {}
func (taskExecutorSaid) isEvent()         {}
func (taskExecutorDisconnected) isEvent() {}
func (commitStored) isEvent()             {}
func (cancelAsked) isEvent()              {}
func (woken) isEvent()                    {}
func (detailsAsked) isEvent()             {}
func (overviewAsked) isEvent()            {}
func (subtasksAsked) isEvent()            {}
func (pageAsked) isEvent()                {}

// subtasksAnswer is the answer to subtasksAsked. Err is msg.ErrVertexNotFound.
type subtasksAnswer struct {
	Vertex msg.VertexSubtasks
	Err    error
}

// pageAnswer is the answer to pageAsked. Err is msg.ErrResultNotFound or msg.ErrResultGone.
type pageAnswer struct {
	Page msg.CollectPage
	Err  error
}

// effect is an action that core.Step asks for.
//
//sumtype:decl
type effect interface{ isEffect() }

// The effects.
type (
	// sendTaskExecutor sends a message over a connection.
	sendTaskExecutor struct {
		To      actor.ConnectionID
		Message msg.Message
	}
	// closeTaskExecutor ends a connection after the messages that were sent over it.
	closeTaskExecutor struct {
		To    actor.ConnectionID
		Cause string
	}
	// tellResourceManager sends RegisterJobMaster, DeclareRequirements or BlockNodes.
	tellResourceManager struct{ Message msg.Message }
	// storeCommit stores what a region commits. commitStored follows, unless another master leads: then the
	// JobMaster ends.
	storeCommit struct {
		Region int
		Record commitrecord.Record
	}
	// storeCommitted stores that a region has committed. Nothing follows, unless another master leads: then the JobMaster
	// ends.
	storeCommitted struct{ Region int }
	// resultChanged says that a collected result has more records, or was reset.
	resultChanged struct{ Name string }
	// resultDropped says that the held records of a collected result were dropped, because no
	// client has asked for the job for a time.
	resultDropped struct {
		Name  string
		After time.Duration
	}
	// reply answers a question.
	reply struct{ actor.Reply }
	// ended is the last effect: the job has ended, and the JobMaster ends with it. The Dispatcher
	// gets Details, and the results that the client has not read. Last and LastOverview describe
	// the job just before its end; the JobMaster answers with them until the Dispatcher announces
	// the end.
	ended struct {
		Details      msg.JobDetails
		Results      collect.Results
		Last         msg.JobDetails
		LastOverview msg.JobOverview
	}

	// The following effects are for the log only.

	// statusChanged says that the status of the job has changed.
	statusChanged struct{ From, To msg.JobStatus }
	// commitsRecovered says in how many regions only the commit runs, because earlier masters have stored it, and how many
	// of them have committed.
	commitsRecovered struct{ Regions, Committed int }
	// exchangesBlocking says that the job runs in waves, and why.
	exchangesBlocking struct{ Why string }
	// regionFailed gives the root cause of a region's failure, and what the restart strategy
	// decided.
	regionFailed struct {
		Region  int
		Root    msg.ExceptionEntry
		Restart bool
		Delay   time.Duration
	}
	// taskSlow says that a task has run for longer than the baseline, and gets further attempts on other nodes than its own.
	taskSlow struct {
		Task, Node     string
		Took, Baseline time.Duration
	}
	// furtherDeployed says that a further attempt of a task runs.
	furtherDeployed struct {
		Task, Node string
		Execution  ids.ExecutionAttemptID
	}
	// furtherEnded says which of several attempts of a task has finished first. The others are cancelled.
	furtherEnded struct {
		Task      string
		Execution ids.ExecutionAttemptID
		Others    int
	}
	// diskFailed says that several partitions on a disk of a worker are lost, and how many tasks run again that have written there.
	diskFailed struct {
		Resource    ids.ResourceID
		Node        string
		Disk, Tasks int
	}
	// nodeBlocked says that a node is set aside.
	nodeBlocked struct{ msg.BlockedNode }
	// noOtherNode says that only nodes which are set aside could serve the job, and why. Root is
	// the fault of the node that was set aside last. The restart strategy decided: the job tries
	// these nodes again after Delay, or ends.
	noOtherNode struct {
		Root    msg.ExceptionEntry
		Reason  string
		Restart bool
		Delay   time.Duration
	}
	// slotsTimedOut says that no region got its slots in time, how many wait, and what the restart
	// strategy decided.
	slotsTimedOut struct {
		Root    msg.ExceptionEntry
		Regions int
		Restart bool
		Delay   time.Duration
	}
	// slotsDescribed describes the slots of a job each minute; see Config.LogSlots.
	slotsDescribed struct {
		Free, Allocated  int // slots that the job has
		Required, Least  int // as declared: for all regions, and for one
		Waiting, Failing int // regions
		Starved          bool
	}
	// workerGone says that a worker of the job is gone.
	workerGone struct {
		Resource ids.ResourceID
		Cause    string
	}
	// dropped says that a message was ignored.
	dropped struct {
		From    actor.Peer
		Message msg.Message
		Why     string
	}
)

func (sendTaskExecutor) isEffect()    {}
func (closeTaskExecutor) isEffect()   {}
func (tellResourceManager) isEffect() {}
func (storeCommit) isEffect()         {}
func (storeCommitted) isEffect()      {}
func (resultChanged) isEffect()       {}
func (resultDropped) isEffect()       {}
func (reply) isEffect()               {}
func (ended) isEffect()               {}
func (statusChanged) isEffect()       {}
func (commitsRecovered) isEffect()    {}
func (exchangesBlocking) isEffect()   {}
func (regionFailed) isEffect()        {}
func (taskSlow) isEffect()            {}
func (furtherDeployed) isEffect()     {}
func (furtherEnded) isEffect()        {}
func (diskFailed) isEffect()          {}
func (nodeBlocked) isEffect()         {}
func (noOtherNode) isEffect()         {}
func (slotsDescribed) isEffect()      {}
func (slotsTimedOut) isEffect()       {}
func (workerGone) isEffect()          {}
func (dropped) isEffect()             {}
