package resourcemanager

import (
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/slotmanager"
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
	// leading ends the standby.
	leading struct{}
	// workersReported brings events of workers, in order.
	workersReported struct{ Events []WorkerEvent }
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
	// jobMasterRegistering registers the JobMaster of a job.
	jobMasterRegistering struct{ Registration msg.RegisterJobMaster }
	// requirementsDeclared brings the number of slots that a job needs.
	requirementsDeclared struct{ Declaration msg.DeclareRequirements }
	// nodesBlocked brings the nodes that a job has set aside.
	nodesBlocked struct{ Message msg.BlockNodes }
	// jobMasterGone says that a JobMaster has ended.
	jobMasterGone struct {
		Job       ids.JobID
		JobMaster ids.JobMasterID
	}
	// tokensUpdated brings new tokens for all TaskExecutors.
	tokensUpdated struct{ Tokens msg.Secret }
	// woken says that the time of the core's alarm has come.
	woken struct{}
	// statusAsked asks for the Status.
	statusAsked struct{ Question actor.Question[Status] }
	// supplyAsked asks for the slots that jobs have, and those that they wait for. It is cheaper than statusAsked.
	supplyAsked struct {
		Question actor.Question[msg.SlotSupply]
	}
	// detailsAsked asks for the description of one worker.
	detailsAsked struct {
		Worker   ids.ResourceID
		Question actor.Question[msg.TaskExecutorDetails]
	}
	// grantAsked asks when the first container came for a job; zero: none is known.
	grantAsked struct {
		Job      ids.JobID
		Question actor.Question[time.Time]
	}
	// inquiryAsked asks a worker's process, or one of its task hosts, a question.
	inquiryAsked struct {
		Worker   ids.ResourceID
		Host     ids.HostID
		Inquiry  msg.Inquiry
		Question actor.Question[inquiryResult]
	}
	// shutdownAsked asks for the end of all workers and of the application. The answer is the error
	// of Deregister.
	shutdownAsked struct {
		Status      msg.ApplicationStatus
		Diagnostics string
		Question    actor.Question[error]
	}
	// deregistered is the provider's answer to deregister.
	deregistered struct{ Err error }
)

func (leading) isEvent()                  {}
func (workersReported) isEvent()          {}
func (taskExecutorSaid) isEvent()         {}
func (taskExecutorDisconnected) isEvent() {}
func (jobMasterRegistering) isEvent()     {}
func (requirementsDeclared) isEvent()     {}
func (nodesBlocked) isEvent()             {}
func (jobMasterGone) isEvent()            {}
func (tokensUpdated) isEvent()            {}
func (woken) isEvent()                    {}
func (statusAsked) isEvent()              {}
func (supplyAsked) isEvent()              {}
func (detailsAsked) isEvent()             {}
func (grantAsked) isEvent()               {}
func (inquiryAsked) isEvent()             {}
func (shutdownAsked) isEvent()            {}
func (deregistered) isEvent()             {}

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
	// closeTaskExecutor ends a connection.
	closeTaskExecutor struct {
		To    actor.ConnectionID
		Cause string
	}
	// sendJobMaster sends a message to a JobMaster.
	sendJobMaster struct {
		To      ids.JobMasterID
		Message msg.Message
	}
	// forgetJobMaster says that no further message goes to a JobMaster.
	forgetJobMaster struct{ JobMaster ids.JobMasterID }
	// orderWorkers sends orders to the provider.
	orderWorkers struct{ Orders Orders }
	// deregister ends the application, after all orders.
	deregister struct {
		Status      msg.ApplicationStatus
		Diagnostics string
	}
	// dropped says that a message was ignored, for logs. Stale messages are normal when messages
	// cross.
	dropped struct {
		Message msg.Message
		From    string
		Why     string
	}
	// workerGone says that the ResourceManager has removed a worker, for logs.
	workerGone struct {
		Worker ids.ResourceID
		Cause  string
	}
	// reply answers a question.
	reply struct{ actor.Reply }
)

func (sendTaskExecutor) isEffect()  {}
func (closeTaskExecutor) isEffect() {}
func (sendJobMaster) isEffect()     {}
func (forgetJobMaster) isEffect()   {}
func (orderWorkers) isEffect()      {}
func (deregister) isEffect()        {}
func (dropped) isEffect()           {}
func (workerGone) isEffect()        {}
func (reply) isEffect()             {}

// Status describes the ResourceManager's workers, and the jobs that wait for slots.
type Status struct {
	// Worker describes the workers with default slots.
	Worker WorkerResourceSpec
	// TaskExecutors are the registered workers, by ResourceID.
	TaskExecutors []msg.TaskExecutorDetails
	// Blocked are the nodes that jobs have set aside, by name.
	Blocked []msg.BlockedNode
	// Starting counts workers that have not registered yet; Requested counts workers for which the
	// provider has no room yet.
	Starting, Requested int
	// StartsFailed counts workers that could not be started, or were lost before they registered, and
	// StartsFailedPerSecond is their rate in the last minute.
	StartsFailed          StartFailures
	StartsFailedPerSecond float64
	// Previous counts workers of earlier masters that have not returned yet.
	Previous int
	// RequestedSince is since when workers are requested; zero: none is.
	RequestedSince time.Time
	// Refused is why the provider cannot get more workers; "" if it can.
	Refused string
	// Kept are the workers that stay without work, and Floor is the option for the floor, with its
	// value; "" if there is no floor.
	Kept  slotmanager.Kept
	Floor string
	// Earlier counts those of them for which orders of new workers wait.
	Earlier int
	// Kinds are the sizes of workers, that of default slots first.
	Kinds []msg.WorkerSupply
	// Used is what all workers of this ApplicationMaster have used, without their task hosts, and UsedBy what the task hosts of each
	// registered job have used. Both include those that have ended.
	Used   msg.Usage
	UsedBy map[ids.JobID]msg.Usage
	// Begin tells how the first workers have come.
	Begin Begin
	// Jobs lists the jobs that need slots, in the order in which they came.
	Jobs []msg.SlotDemand
}
