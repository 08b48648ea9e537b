package jobmaster

import (
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/collect"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Event is something that happened, for Core.Step.
//
//sumtype:decl
type Event interface{ isEvent() }

// ConnectionID numbers the connections of TaskExecutors, from 1.
type ConnectionID uint64

// Peer is a TaskExecutor at the other end of a connection.
type Peer struct {
	Connection ConnectionID
	Resource   ids.ResourceID // as its certificate has it
}

// The events.
type (
	// Started comes first, once.
	Started struct{}
	// ResourceManagerSaid brings JobMasterRegistered, NotEnoughResources,
	// AllNodesBlocked or TaskExecutorTerminated.
	ResourceManagerSaid struct{ Message msg.Message }
	// TaskExecutorSaid brings a message, with the token that it carried.
	TaskExecutorSaid struct {
		From    Peer
		Token   ids.JobMasterID
		Message msg.Message
	}
	// TaskExecutorDisconnected says that a connection is lost.
	TaskExecutorDisconnected struct {
		From  Peer
		Cause string
	}
	// CancelAsked asks for the end of the job; a job that ends already is left
	// alone.
	CancelAsked struct{}
	// Woken says that the time of the last Wake has come. One too many does no
	// harm.
	Woken struct{}
	// DetailsAsked asks for AnswerDetails.
	DetailsAsked struct{ Reply chan<- msg.JobDetails }
	// OverviewAsked asks for AnswerOverview.
	OverviewAsked struct{ Reply chan<- msg.JobOverview }
	// PageAsked asks for AnswerPage: a page of a collected result.
	PageAsked struct {
		Name   string
		Cursor int64
		Reply  chan<- Page
	}
)

func (Started) isEvent()                  {}
func (ResourceManagerSaid) isEvent()      {}
func (TaskExecutorSaid) isEvent()         {}
func (TaskExecutorDisconnected) isEvent() {}
func (CancelAsked) isEvent()              {}
func (Woken) isEvent()                    {}
func (DetailsAsked) isEvent()             {}
func (OverviewAsked) isEvent()            {}
func (PageAsked) isEvent()                {}

// Page is the answer to PageAsked: msg.ErrResultNotFound, msg.ErrResultGone.
type Page struct {
	Page msg.CollectPage
	Err  error
}

// Effect is something that Core.Step wants done.
//
//sumtype:decl
type Effect interface{ isEffect() }

// The effects.
type (
	// SendTaskExecutor sends a message over a connection.
	SendTaskExecutor struct {
		To      ConnectionID
		Message msg.Message
	}
	// CloseTaskExecutor ends a connection after what was sent over it.
	CloseTaskExecutor struct {
		To    ConnectionID
		Cause string
	}
	// TellResourceManager sends RegisterJobMaster, DeclareRequirements or BlockNodes.
	TellResourceManager struct{ Message msg.Message }
	// Wake asks for Woken at a time, in place of the time asked for before.
	Wake struct{ At time.Time }
	// ResultChanged says that a collected result has more, or began anew.
	ResultChanged struct{ Name string }
	// ResultDropped says that what was held of a collected result is lost, as nobody has
	// asked for the job for a time.
	ResultDropped struct {
		Name  string
		After time.Duration
	}
	// AnswerDetails answers DetailsAsked.
	AnswerDetails struct {
		Reply   chan<- msg.JobDetails
		Details msg.JobDetails
	}
	// AnswerOverview answers OverviewAsked.
	AnswerOverview struct {
		Reply    chan<- msg.JobOverview
		Overview msg.JobOverview
	}
	// AnswerPage answers PageAsked.
	AnswerPage struct {
		Reply chan<- Page
		Page  Page
	}
	// Ended is the last effect of all: the job has ended and the JobMaster with
	// it. Details and what the client has not read of the results go to the
	// Dispatcher. Last and LastOverview describe the job as it was just before, for
	// those who ask until the Dispatcher tells its end.
	Ended struct {
		Details      msg.JobDetails
		Results      collect.Results
		Last         msg.JobDetails
		LastOverview msg.JobOverview
	}

	// What follows is for the log only.

	// StatusChanged says that the job is in another state.
	StatusChanged struct{ From, To msg.JobStatus }
	// RegionFailed says what the root cause of a region's failure is and what
	// follows it.
	RegionFailed struct {
		Region  int
		Root    msg.ExceptionEntry
		Restart bool
		Delay   time.Duration
	}
	// NodeBlocked says that a node is set aside.
	NodeBlocked struct{ msg.BlockedNode }
	// NoOtherNode says why no node serves the job but those that are set aside, for what the
	// last of them was, and what the restart strategy decided: they are tried again after a
	// delay, or the job ends.
	NoOtherNode struct {
		Root    msg.ExceptionEntry
		Reason  string
		Restart bool
		Delay   time.Duration
	}
	// WorkerGone says that a worker of the job is gone.
	WorkerGone struct {
		Resource ids.ResourceID
		Cause    string
	}
	// Dropped says that a message was ignored.
	Dropped struct {
		From    Peer
		Message msg.Message
		Why     string
	}
)

func (SendTaskExecutor) isEffect()    {}
func (CloseTaskExecutor) isEffect()   {}
func (TellResourceManager) isEffect() {}
func (Wake) isEffect()                {}
func (ResultChanged) isEffect()       {}
func (ResultDropped) isEffect()       {}
func (AnswerDetails) isEffect()       {}
func (AnswerOverview) isEffect()      {}
func (AnswerPage) isEffect()          {}
func (Ended) isEffect()               {}
func (StatusChanged) isEffect()       {}
func (RegionFailed) isEffect()        {}
func (NodeBlocked) isEffect()         {}
func (NoOtherNode) isEffect()         {}
func (WorkerGone) isEffect()          {}
func (Dropped) isEffect()             {}
