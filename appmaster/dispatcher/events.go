package dispatcher

import (
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Submission is a job on its way in.
type Submission struct {
	Job     ids.JobID
	Graph   *jobgraph.JobGraph // not changed any more
	Program msg.Program
	// Detached says that no client comes for what it collects.
	Detached bool
	// ClientTimeout is how long its client may be silent before it is cancelled
	// (client.heartbeat.timeout); 0: for ever.
	ClientTimeout time.Duration
}

// Outcome is how the cluster is to end.
type Outcome struct {
	Status      msg.ApplicationStatus
	Diagnostics string // root cause, for YARN; at most 8 KiB
}

// event is something that happened, for core.Step.
//
//sumtype:decl
type event interface{ isEvent() }

// The events.
type (
	// submitAsked brings a job, and asks whether it is taken.
	submitAsked struct {
		Submission Submission
		Question   actor.Question[error]
	}
	// jobMasterFailed says that a job's JobMaster could not be made, or ended
	// without an outcome.
	jobMasterFailed struct {
		Job       ids.JobID
		JobMaster ids.JobMasterID
		Err       error
	}
	// jobEnded brings what a JobMaster leaves behind.
	jobEnded struct {
		Job       ids.JobID
		JobMaster ids.JobMasterID
		Details   msg.JobDetails
		Results   collect.Results
	}
	// cancelAsked asks for the end of a job.
	cancelAsked struct {
		Job      ids.JobID
		Question actor.Question[error]
	}
	// clientSeen says that a job's client is alive.
	clientSeen struct {
		Job      ids.JobID
		Question actor.Question[error]
	}
	// jobAsked asks what is known of a job.
	jobAsked struct {
		Job      ids.JobID
		Question actor.Question[jobEntry]
	}
	// jobsAsked asks for all jobs, in the order of their submission.
	jobsAsked struct{ Question actor.Question[[]jobEntry] }
	// resultAsked asks as jobAsked does, and says that the client will know then how
	// the job ended.
	resultAsked struct {
		Job      ids.JobID
		Question actor.Question[jobEntry]
	}
	// pageAsked asks for a page of a result that an ended job left.
	pageAsked struct {
		Job      ids.JobID
		Name     string
		Cursor   int64
		Question actor.Question[pageAnswer]
	}
	// jobsAwaited asks, once there is no job that has not ended, for the end of an
	// application that was for them: as the first that did not finish, or as succeeded.
	jobsAwaited struct{ Question actor.Question[Outcome] }
	// shutdownAsked asks for the end of the cluster.
	shutdownAsked struct{}
	// endAsked says how the application has ended that the cluster is for.
	endAsked struct{ Outcome Outcome }
	// woken says that the core's alarm rings.
	woken struct{}
)

func (submitAsked) isEvent()     {}
func (jobMasterFailed) isEvent() {}
func (jobEnded) isEvent()        {}
func (cancelAsked) isEvent()     {}
func (clientSeen) isEvent()      {}
func (jobAsked) isEvent()        {}
func (jobsAsked) isEvent()       {}
func (resultAsked) isEvent()     {}
func (pageAsked) isEvent()       {}
func (jobsAwaited) isEvent()     {}
func (shutdownAsked) isEvent()   {}
func (endAsked) isEvent()        {}
func (woken) isEvent()           {}

// jobEntry is a job as the Dispatcher knows it.
type jobEntry struct {
	Job ids.JobID // "" where there is no such job
	// Details are those of a job that has ended; nil while its JobMaster has
	// them.
	Details *msg.JobDetails
}

// pageAnswer is the answer to pageAsked: msg.ErrJobNotFound, msg.ErrNotReady,
// msg.ErrResultNotFound, msg.ErrResultGone.
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
	// StartJobMaster makes a job's JobMaster and runs it: jobMasterFailed, or later
	// jobEnded.
	StartJobMaster struct {
		JobMaster  ids.JobMasterID // fencing token of its grant
		Submission Submission
		// ResultBytes is what may be held of each collected result: collect.LeastBuffered
		// or more, which is the least that collect.New makes; 0 of a job without results
		// that anybody comes for.
		ResultBytes int
	}
	// cancelJob tells a JobMaster to end its job.
	cancelJob struct {
		Job ids.JobID
		Why string // where nobody has asked for it
	}
	// jobArchived says that the Dispatcher answers for a job from now on.
	jobArchived struct {
		Job    ids.JobID
		Status msg.JobStatus
	}
	// jobForgotten says that an ended job is not kept any longer.
	jobForgotten struct{ Job ids.JobID }
	// endCluster says how the cluster is to end: now, and once.
	endCluster struct{ Outcome Outcome }
	// reply answers a question.
	reply struct{ actor.Reply }
	// dropped says that an event was ignored. For the log only.
	dropped struct {
		Job ids.JobID
		Why string
	}
)

func (StartJobMaster) isEffect() {}
func (cancelJob) isEffect()      {}
func (jobArchived) isEffect()    {}
func (jobForgotten) isEffect()   {}
func (endCluster) isEffect()     {}
func (reply) isEffect()          {}
func (dropped) isEffect()        {}
