package jobmaster

import (
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
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
	// started comes first, once.
	started struct{}
	// resourceManagerSaid brings JobMasterRegistered, NotEnoughResources,
	// AllNodesBlocked or TaskExecutorTerminated.
	resourceManagerSaid struct{ Message msg.Message }
	// taskExecutorSaid brings a message. Its connection has compared fencing
	// tokens: what is meant for another grant of leadership does not come here.
	taskExecutorSaid struct {
		From    actor.Peer
		Message msg.Message
	}
	// taskExecutorDisconnected says that a connection is lost.
	taskExecutorDisconnected struct {
		From  actor.Peer
		Cause string
	}
	// cancelAsked asks for the end of the job; a job that ends already is left
	// alone.
	cancelAsked struct{}
	// woken says that the core's alarm rings.
	woken struct{}
	// detailsAsked asks for the job's description, overviewAsked for its line in a list.
	detailsAsked struct {
		Question actor.Question[msg.JobDetails]
	}
	overviewAsked struct {
		Question actor.Question[msg.JobOverview]
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
func (cancelAsked) isEvent()              {}
func (woken) isEvent()                    {}
func (detailsAsked) isEvent()             {}
func (overviewAsked) isEvent()            {}
func (pageAsked) isEvent()                {}

// pageAnswer is the answer to pageAsked: msg.ErrResultNotFound, msg.ErrResultGone.
type pageAnswer struct {
	Page msg.CollectPage
	Err  error
}

// effect is something that core.Step wants done.
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
	// closeTaskExecutor ends a connection after what was sent over it.
	closeTaskExecutor struct {
		To    actor.ConnectionID
		Cause string
	}
	// tellResourceManager sends RegisterJobMaster, DeclareRequirements or BlockNodes.
	tellResourceManager struct{ Message msg.Message }
	// resultChanged says that a collected result has more, or began anew.
	resultChanged struct{ Name string }
	// resultDropped says that what was held of a collected result is lost, as nobody has
	// asked for the job for a time.
	resultDropped struct {
		Name  string
		After time.Duration
	}
	// reply answers a question.
	reply struct{ actor.Reply }
	// ended is the last effect of all: the job has ended and the JobMaster with
	// it. Details and what the client has not read of the results go to the
	// Dispatcher. Last and LastOverview describe the job as it was just before, for
	// those who ask until the Dispatcher tells its end.
	ended struct {
		Details      msg.JobDetails
		Results      collect.Results
		Last         msg.JobDetails
		LastOverview msg.JobOverview
	}

	// What follows is for the log only.

	// statusChanged says that the job is in another state.
	statusChanged struct{ From, To msg.JobStatus }
	// regionFailed says what the root cause of a region's failure is and what
	// follows it.
	regionFailed struct {
		Region  int
		Root    msg.ExceptionEntry
		Restart bool
		Delay   time.Duration
	}
	// nodeBlocked says that a node is set aside.
	nodeBlocked struct{ msg.BlockedNode }
	// noOtherNode says why no node serves the job but those that are set aside, for what the
	// last of them was, and what the restart strategy decided: they are tried again after a
	// delay, or the job ends.
	noOtherNode struct {
		Root    msg.ExceptionEntry
		Reason  string
		Restart bool
		Delay   time.Duration
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
func (resultChanged) isEffect()       {}
func (resultDropped) isEffect()       {}
func (reply) isEffect()               {}
func (ended) isEffect()               {}
func (statusChanged) isEffect()       {}
func (regionFailed) isEffect()        {}
func (nodeBlocked) isEffect()         {}
func (noOtherNode) isEffect()         {}
func (workerGone) isEffect()          {}
func (dropped) isEffect()             {}
