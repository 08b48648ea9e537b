package dispatcher

import (
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/collect"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
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

// Event is something that happened, for Core.Step.
//
//sumtype:decl
type Event interface{ isEvent() }

// The events.
type (
	// SubmitAsked brings a job, and asks for AnswerError.
	SubmitAsked struct {
		Submission Submission
		Reply      chan<- error
	}
	// JobMasterFailed says that a job's JobMaster could not be made, or ended
	// without an outcome.
	JobMasterFailed struct {
		Job       ids.JobID
		JobMaster ids.JobMasterID
		Err       error
	}
	// JobEnded brings what a JobMaster leaves behind.
	JobEnded struct {
		Job       ids.JobID
		JobMaster ids.JobMasterID
		Details   msg.JobDetails
		Results   collect.Results
	}
	// CancelAsked asks for the end of a job, and for AnswerError.
	CancelAsked struct {
		Job   ids.JobID
		Reply chan<- error
	}
	// ClientSeen says that a job's client is alive, and asks for AnswerError.
	ClientSeen struct {
		Job   ids.JobID
		Reply chan<- error
	}
	// JobAsked asks for AnswerJob.
	JobAsked struct {
		Job   ids.JobID
		Reply chan<- Entry
	}
	// JobsAsked asks for AnswerJobs.
	JobsAsked struct{ Reply chan<- []Entry }
	// ResultAsked asks for AnswerJob, and says that the client will know then how
	// the job ended.
	ResultAsked struct {
		Job   ids.JobID
		Reply chan<- Entry
	}
	// PageAsked asks for AnswerPage: of a result that an ended job left.
	PageAsked struct {
		Job    ids.JobID
		Name   string
		Cursor int64
		Reply  chan<- Page
	}
	// JobsAwaited asks for AnswerOutcome, once there is no job that has not ended.
	JobsAwaited struct{ Reply chan<- Outcome }
	// ShutdownAsked asks for the end of the cluster.
	ShutdownAsked struct{}
	// EndAsked says how the application has ended that the cluster is for.
	EndAsked struct{ Outcome Outcome }
	// Woken says that the time of the last Wake has come. One too many does no
	// harm.
	Woken struct{}
)

func (SubmitAsked) isEvent()     {}
func (JobMasterFailed) isEvent() {}
func (JobEnded) isEvent()        {}
func (CancelAsked) isEvent()     {}
func (ClientSeen) isEvent()      {}
func (JobAsked) isEvent()        {}
func (JobsAsked) isEvent()       {}
func (ResultAsked) isEvent()     {}
func (PageAsked) isEvent()       {}
func (JobsAwaited) isEvent()     {}
func (ShutdownAsked) isEvent()   {}
func (EndAsked) isEvent()        {}
func (Woken) isEvent()           {}

// Entry is a job as the Dispatcher knows it.
type Entry struct {
	Job ids.JobID // "" where there is no such job
	// Details are those of a job that has ended; nil while its JobMaster has
	// them.
	Details *msg.JobDetails
}

// Page is the answer to PageAsked: msg.ErrJobNotFound, msg.ErrNotReady,
// msg.ErrResultNotFound, msg.ErrResultGone.
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
	// StartJobMaster makes a job's JobMaster and runs it: JobMasterFailed, or later
	// JobEnded.
	StartJobMaster struct {
		JobMaster  ids.JobMasterID // fencing token of its grant
		Submission Submission
		// ResultBytes is what may be held of each collected result: collect.LeastBuffered
		// or more, which is the least that collect.New makes; 0 of a job without results
		// that anybody comes for.
		ResultBytes int
	}
	// CancelJob tells a JobMaster to end its job.
	CancelJob struct {
		Job ids.JobID
		Why string // where nobody has asked for it
	}
	// JobArchived says that the Dispatcher answers for a job from now on.
	JobArchived struct {
		Job    ids.JobID
		Status msg.JobStatus
	}
	// JobForgotten says that an ended job is not kept any longer.
	JobForgotten struct{ Job ids.JobID }
	// EndCluster says how the cluster is to end: now, and once.
	EndCluster struct{ Outcome Outcome }
	// Wake asks for Woken at a time, in place of the time asked for before.
	Wake struct{ At time.Time }
	// AnswerError answers SubmitAsked, CancelAsked and ClientSeen.
	AnswerError struct {
		Reply chan<- error
		Err   error
	}
	// AnswerJob answers JobAsked and ResultAsked.
	AnswerJob struct {
		Reply chan<- Entry
		Entry Entry
	}
	// AnswerJobs answers JobsAsked, in the order of submission.
	AnswerJobs struct {
		Reply   chan<- []Entry
		Entries []Entry
	}
	// AnswerPage answers PageAsked.
	AnswerPage struct {
		Reply chan<- Page
		Page  Page
	}
	// AnswerOutcome answers JobsAwaited: as the first job that did not finish, or as
	// succeeded.
	AnswerOutcome struct {
		Reply   chan<- Outcome
		Outcome Outcome
	}
	// Dropped says that an event was ignored. For the log only.
	Dropped struct {
		Job ids.JobID
		Why string
	}
)

func (StartJobMaster) isEffect() {}
func (CancelJob) isEffect()      {}
func (JobArchived) isEffect()    {}
func (JobForgotten) isEffect()   {}
func (EndCluster) isEffect()     {}
func (Wake) isEffect()           {}
func (AnswerError) isEffect()    {}
func (AnswerJob) isEffect()      {}
func (AnswerJobs) isEffect()     {}
func (AnswerPage) isEffect()     {}
func (AnswerOutcome) isEffect()  {}
func (Dropped) isEffect()        {}
