package dispatcher

import (
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Submission is a job to be accepted.
type Submission struct {
	Job   ids.JobID
	Graph *jobgraph.JobGraph // not changed any more
	// Unprepared is true if Graph has neither inputs nor outputs. Such a submission only looks for an accepted job.
	Unprepared bool
	Program    msg.Program
	// Unfit says why no workers can run the job; nil: they can. It does not count for a job that was accepted before.
	Unfit error
	// Detached says that no client reads what the job collects.
	Detached bool
	// ClientTimeout is how long the job's client may send no heartbeat before the job is cancelled
	// (client.heartbeat.timeout); 0: for ever.
	ClientTimeout time.Duration
}

// Outcome is how the cluster has to end.
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
	// recovered brings what earlier masters have left. It is the first event, or there is none.
	recovered struct{ Recovered Recovered }
	// changed says that the store has taken a change about a job, or has refused it. The shell sends it.
	changed struct {
		Job    ids.JobID
		Change change
		Err    error
	}
	// resultLoaded brings a result from the store. The shell sends it.
	resultLoaded struct {
		Job     ids.JobID
		Result  result
		Err     error
		Missing bool // the error is that there is no result
	}
	// overviewLoaded brings what the list of jobs needs of a result. The shell sends it.
	overviewLoaded struct {
		Job      ids.JobID
		Identity identity
		Overview msg.JobOverview
		Err      error
	}
	// archiveTried says that a job is archived, or why it is not. The shell sends it.
	archiveTried struct {
		Job        ids.JobID
		Err        error
		Unreadable bool            // the error is that the store has no result that can be read
		Read       *msg.JobDetails // was read for this try, which has failed; nil: nothing was. Never changed
	}
	// submitAsked submits a job with a valid graph. The answer says whether it is accepted. Identity says which job it is,
	// and Need what it takes: the loop does not look through the graph, which may be large.
	submitAsked struct {
		Submission Submission
		Identity   identity
		Need       budget.Need
		Question   actor.Question[error]
	}
	// jobMasterFailed says that a job's JobMaster could not be made, or ended without an outcome. The shell
	// sends it.
	jobMasterFailed struct {
		Job       ids.JobID
		JobMaster ids.JobMasterID
		Err       error
	}
	// jobEnded brings what a JobMaster leaves. The shell sends it.
	jobEnded struct {
		Job       ids.JobID
		JobMaster ids.JobMasterID
		Details   msg.JobDetails
		Results   collect.Results
	}
	// cancelAsked requests the end of a job.
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
	// jobsAsked asks for jobs, in the order of their submission.
	jobsAsked struct {
		Which    whichJobs
		Question actor.Question[[]jobEntry]
	}
	// resultAsked asks as jobAsked does. It also says that the client knows the outcome from the answer.
	resultAsked struct {
		Job      ids.JobID
		Question actor.Question[jobEntry]
	}
	// pageAsked asks for a page of an ended job's result.
	pageAsked struct {
		Job      ids.JobID
		Name     string
		Cursor   int64
		Question actor.Question[pageAnswer]
	}
	// jobsAwaited asks for the outcome of all jobs: that of the first that did not finish, or success. The
	// answer comes when each job has ended.
	jobsAwaited struct{ Question actor.Question[Outcome] }
	// shutdownAsked requests the end of the cluster.
	shutdownAsked struct{ Question actor.Question[error] }
	// stopStored says that the store has taken that request, or has refused it. The shell sends it.
	stopStored struct{ Err error }
	// endAsked sets how the cluster's application has ended.
	endAsked struct{ Outcome Outcome }
	// woken says that the core's alarm has come.
	woken struct{}
)

func (recovered) isEvent()       {}
func (overviewLoaded) isEvent()  {}
func (stopStored) isEvent()      {}
func (archiveTried) isEvent()    {}
func (changed) isEvent()         {}
func (resultLoaded) isEvent()    {}
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

// whichJobs says which jobs a question is about.
type whichJobs int

const (
	allJobs        whichJobs = iota // the answer waits for results that have to be read
	knownJobs                       // all, as they are known at once: with id and status at least
	unfinishedJobs                  // likewise, those that have not ended
)

// jobEntry is a job as the Dispatcher knows it.
type jobEntry struct {
	Job ids.JobID // "" where there is no such job
	// Details describes an ended job; nil while its JobMaster has the details.
	Details *msg.JobDetails
	// Overview is that of an ended job whose details are only in the store; nil if it is not known either.
	Overview *msg.JobOverview
	Err      error // msg.ErrEnding, msg.ErrNotReady
}

// result is what is kept of an ended job.
type result struct {
	Identity identity
	Details  *msg.JobDetails
	Results  collect.Results // nil if the job ended without its JobMaster, or if no client reads them
}

// pageAnswer is the answer to pageAsked: msg.ErrJobNotFound, msg.ErrNotReady,
// msg.ErrResultNotFound, msg.ErrResultGone, msg.ErrEnding.
type pageAnswer struct {
	Page msg.CollectPage
	Err  error
}

// effect is something that core.Step requests.
//
//sumtype:decl
type effect interface{ isEffect() }

// The effects.
type (
	// StartJobMaster makes a job's JobMaster and runs it. jobMasterFailed or jobEnded follows.
	StartJobMaster struct {
		JobMaster  ids.JobMasterID // fencing token of its grant
		Submission Submission
		Submitted  time.Time // since then the job is INITIALIZING, unless it was recovered
		// ResultBytes is how much of each collected result may be held: collect.LeastBuffered, the least
		// that collect.New makes, or more; 0 for a job without results, or without a client that reads
		// them.
		ResultBytes int
		// KeepRead says that collected records stay when the client has read them, as far as ResultBytes allow: if another
		// master follows, the program of an application runs again, and reads from the beginning.
		KeepRead bool
		// Recovered is not nil if an earlier master has accepted the job, and may have run it: its commits, by region.
		Recovered map[int]ha.Commit
		Resumed   time.Time // when this master took the job over; zero unless Recovered is set
		// Cancelled says that the JobMaster has to end the job before anything else.
		Cancelled bool
	}
	// storeJob makes the store accept a job. As after all effects for the store, changed follows.
	storeJob struct {
		Submission Submission
		Submitted  time.Time
	}
	// storeCancel stores that the end of a job is requested.
	storeCancel struct{ Job ids.JobID }
	// storeResult stores how a job has ended. The core does not touch the result until changed follows.
	storeResult struct {
		Job    ids.JobID
		Result result
	}
	// removeJob removes a job whose result is stored.
	removeJob struct{ Job ids.JobID }
	// removeResult removes the result of a job that is forgotten.
	removeResult struct{ Job ids.JobID }
	// loadOverview reads what the list of jobs needs of a result. overviewLoaded follows.
	loadOverview struct {
		Job    ids.JobID
		Status msg.JobStatus
	}
	// storeStop stores the request for the end of the cluster. stopStored follows.
	storeStop struct{}
	// loadResult reads a result. resultLoaded follows.
	loadResult struct {
		Job    ids.JobID
		Status msg.JobStatus
	}
	// cancelJob tells a JobMaster to end its job, once it is made.
	cancelJob struct {
		Job ids.JobID
		Why string // the reason; "" on request
	}
	// resultRefused says why a job that has ended does not count as ended yet.
	resultRefused struct {
		Job ids.JobID
		Why msg.ExceptionEntry
	}
	// jobArchived says that a job's result is stored: the Dispatcher answers questions about the job from now on.
	jobArchived struct {
		Job    ids.JobID
		Status msg.JobStatus
	}
	// archiveJob archives an ended job for history servers. Details are nil if an earlier master has stored the result and may
	// have died before it archived the job. archiveTried follows. archiveDone is the last effect about it.
	archiveJob struct {
		Job     ids.JobID
		Status  msg.JobStatus
		Details *msg.JobDetails
	}
	// archiveDone says that a job is archived, or given up: what is stored of it may go.
	archiveDone struct {
		Job ids.JobID
		Why error // nil: it is archived
	}
	// archiveDelayed says that a job is not archived, and is tried again after a pause. For the log only.
	archiveDelayed struct {
		Job   ids.JobID
		Tries int // that have failed
		Pause time.Duration
		Why   error
	}
	// jobForgotten says that an ended job is no longer kept.
	jobForgotten struct{ Job ids.JobID }
	// endCluster says how the cluster has to end, now. It is emitted once.
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
func (storeJob) isEffect()       {}
func (storeCancel) isEffect()    {}
func (storeResult) isEffect()    {}
func (removeJob) isEffect()      {}
func (removeResult) isEffect()   {}
func (loadResult) isEffect()     {}
func (loadOverview) isEffect()   {}
func (storeStop) isEffect()      {}
func (cancelJob) isEffect()      {}
func (resultRefused) isEffect()  {}
func (jobArchived) isEffect()    {}
func (archiveJob) isEffect()     {}
func (archiveDone) isEffect()    {}
func (archiveDelayed) isEffect() {}
func (jobForgotten) isEffect()   {}
func (endCluster) isEffect()     {}
func (reply) isEffect()          {}
func (dropped) isEffect()        {}
