package resourcemanager

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Event is something that happened, for Core.Step.
//
//sumtype:decl
type Event interface{ isEvent() }

// ConnectionID numbers the connections of TaskExecutors.
type ConnectionID uint64

// Peer is a TaskExecutor at the other end of a connection.
type Peer struct {
	Connection ConnectionID
	Resource   ids.ResourceID // as its certificate has it
}

// The events.
type (
	// DriverReported brings news of workers, in order.
	DriverReported struct{ Events []DriverEvent }
	// TaskExecutorSaid brings a message. Its connection has compared fencing
	// tokens: what is meant for another grant of leadership does not come here.
	TaskExecutorSaid struct {
		From    Peer
		Message msg.Message
	}
	// TaskExecutorDisconnected says that a connection is lost.
	TaskExecutorDisconnected struct {
		From  Peer
		Cause string
	}
	// JobMasterRegistering brings a job.
	JobMasterRegistering struct{ Registration msg.RegisterJobMaster }
	// RequirementsDeclared brings a job's new total.
	RequirementsDeclared struct{ Declaration msg.DeclareRequirements }
	// NodesBlocked brings the nodes that a job has set aside.
	NodesBlocked struct{ Message msg.BlockNodes }
	// JobMasterGone says that a JobMaster has ended.
	JobMasterGone struct {
		Job       ids.JobID
		JobMaster ids.JobMasterID
	}
	// TokensUpdated brings new tokens for all TaskExecutors.
	TokensUpdated struct{ Tokens msg.Secret }
	// Woken says that the time of the last Wake has come. One too many does no
	// harm.
	Woken struct{}
	// StatusAsked asks for AnswerStatus.
	StatusAsked struct{ Reply chan<- Status }
	// ShutdownAsked asks for the end of all workers and of the application, then
	// for AnswerShutdown.
	ShutdownAsked struct {
		Status      msg.ApplicationStatus
		Diagnostics string
		Reply       chan<- error
	}
	// Deregistered is the driver's answer to Deregister.
	Deregistered struct{ Err error }
)

func (DriverReported) isEvent()           {}
func (TaskExecutorSaid) isEvent()         {}
func (TaskExecutorDisconnected) isEvent() {}
func (JobMasterRegistering) isEvent()     {}
func (RequirementsDeclared) isEvent()     {}
func (NodesBlocked) isEvent()             {}
func (JobMasterGone) isEvent()            {}
func (TokensUpdated) isEvent()            {}
func (Woken) isEvent()                    {}
func (StatusAsked) isEvent()              {}
func (ShutdownAsked) isEvent()            {}
func (Deregistered) isEvent()             {}

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
	// CloseTaskExecutor ends a connection.
	CloseTaskExecutor struct {
		To    ConnectionID
		Cause string
	}
	// SendJobMaster sends a message to a JobMaster.
	SendJobMaster struct {
		To      ids.JobMasterID
		Message msg.Message
	}
	// ForgetJobMaster says that nothing is sent to a JobMaster any more.
	ForgetJobMaster struct{ JobMaster ids.JobMasterID }
	// OrderWorkers gives the driver orders.
	OrderWorkers struct{ Orders Orders }
	// Deregister ends the application, after all orders.
	Deregister struct {
		Status      msg.ApplicationStatus
		Diagnostics string
	}
	// Wake asks for Woken at a time; it replaces the last one.
	Wake struct{ At time.Time }
	// Dropped says that a message was not taken, for logs. Stale ones are the
	// normal end of crossings.
	Dropped struct {
		Message msg.Message
		From    string
		Why     string
	}
	// WorkerGone says that a worker is not the ResourceManager's any more, for
	// logs.
	WorkerGone struct {
		Worker ids.ResourceID
		Cause  string
	}
	// AnswerStatus answers StatusAsked.
	AnswerStatus struct {
		Reply  chan<- Status
		Status Status
	}
	// AnswerShutdown answers ShutdownAsked.
	AnswerShutdown struct {
		Reply chan<- error
		Err   error
	}
)

func (SendTaskExecutor) isEffect()  {}
func (CloseTaskExecutor) isEffect() {}
func (SendJobMaster) isEffect()     {}
func (ForgetJobMaster) isEffect()   {}
func (OrderWorkers) isEffect()      {}
func (Deregister) isEffect()        {}
func (Wake) isEffect()              {}
func (Dropped) isEffect()           {}
func (WorkerGone) isEffect()        {}
func (AnswerStatus) isEffect()      {}
func (AnswerShutdown) isEffect()    {}

// Status describes the ResourceManager's workers, and what jobs wait for.
type Status struct {
	// Worker is what each worker has.
	Worker WorkerResourceSpec
	// TaskExecutors are the registered workers, by ResourceID.
	TaskExecutors []msg.TaskExecutorDetails
	// Blocked are the nodes that jobs have set aside, by name.
	Blocked []msg.BlockedNode
	// Starting counts workers that have not registered yet, Requested those that
	// the driver has not found room for.
	Starting, Requested int
	// RequestedSince is since when some are requested; zero: none is.
	RequestedSince time.Time
	// Refused is why the driver can have no more workers; "" while it may.
	Refused string
	// Jobs are those that need slots, in the order in which they came.
	Jobs []msg.SlotDemand
}
