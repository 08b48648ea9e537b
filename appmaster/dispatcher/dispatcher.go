// Package dispatcher is the role that accepts jobs, starts a JobMaster for each, and keeps what is left of
// a job after its end. It owns the list of jobs, and decides when and how a cluster for one job ends.
//
// A Store outlives it. Each job is stored before it is accepted, a request for a job's end before it is answered, and
// the end of a job before anybody is told. So the next master goes on where this one has ended: see ReadStore and
// Recover.
//
// Its core is pure; Dispatcher is the loop around it. The package owns the loop's goroutine, one for each request to the
// store, and two for each running job: one makes and runs its JobMaster, the other passes cancellations to it. The package
// must never import another role: its user passes in the function that makes a JobMaster.
package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/subtasks"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// JobMaster runs one job. Its methods except Run may be called from any goroutine. They return
// actor.ErrStopped once the job has ended or is suspended; Details, Overview and VertexSubtasks only once it is suspended.
type JobMaster interface {
	// Run runs the job to its end and returns what is kept of it. An error says that the job was suspended.
	// Work that remains after the job's end may take a while.
	Run(ctx context.Context) (msg.JobDetails, collect.Results, error)
	// Cancel ends the job as CANCELED.
	Cancel(ctx context.Context) error
	// Details and Overview describe the job. After its end they describe it as it was just before: so a request for
	// the list of jobs does not wait until the job's result is stored.
	Details(ctx context.Context) (msg.JobDetails, error)
	Overview(ctx context.Context) (msg.JobOverview, error)
	// VertexSubtasks describes a vertex with its subtasks. Errors: msg.ErrVertexNotFound, msg.ErrSubtasksGone.
	VertexSubtasks(ctx context.Context, vertex string) (msg.VertexSubtasks, error)
	// CollectPage returns a page of a collected result. It waits for the page's first record.
	CollectPage(ctx context.Context, name string, cursor int64, wait time.Duration) (msg.CollectPage, error)
}

// Starter makes the JobMaster of a job, without running it. It may be called from several goroutines, and may wait: the job
// is INITIALIZING meanwhile. ctx ends with the Dispatcher, or when the job is cancelled. If the error wraps ha.ErrSuperseded, so does that of Run.
type Starter func(ctx context.Context, start StartJobMaster) (JobMaster, error)

// Dispatcher is the running role. Make it with New, and run it once with Run. Its other methods may be
// called from any goroutine, also before Run. After Run they return actor.ErrStopped.
type Dispatcher struct {
	loop    *actor.Loop[event, effect]
	store   keeper
	discard Discarder
	archive Archiver // nil: jobs are not archived
	start   Starter
	logger  logrus.FieldLogger
	ending  chan struct{} // closed by the loop when outcome is set
	result  Outcome       // set once, before ending is closed

	mu      sync.Mutex // guards running
	running map[ids.JobID]*runningJob

	archiving archiving
}

// runningJob is a job that has not ended. Once its JobMaster is made, that answers questions about it.
type runningJob struct {
	initial  msg.JobDetails // until then
	made     chan struct{}  // closed when the JobMaster is made, or cannot be made
	master   JobMaster      // read once made is closed; nil: it cannot be made
	failed   chan struct{}  // closed when the JobMaster has ended without an outcome
	cancel   chan struct{}  // a token says that the job is to be cancelled; has room for one
	unwanted chan struct{}  // closed when the cancellation has come
	archived chan struct{}  // closed when the Dispatcher answers for the job

	refused atomic.Pointer[msg.ExceptionEntry] // why the job's result is not stored yet; nil: it was not refused
}

func newRunningJob(e StartJobMaster) *runningJob {
	initial := msg.JobDetails{
		ID: e.Submission.Job, Name: e.Submission.Graph.Name, Status: msg.JobInitializing, Start: e.Submitted,
		Timestamps: map[msg.JobStatus]time.Time{msg.JobInitializing: e.Submitted},
	}
	if !e.Resumed.IsZero() {
		initial.Timestamps[msg.JobInitializing] = e.Resumed
		initial.Steps = []msg.Step{{Name: msg.StepRecovered, At: e.Resumed}}
	}
	return &runningJob{
		initial: initial,
		made:    make(chan struct{}), failed: make(chan struct{}), cancel: make(chan struct{}, 1),
		unwanted: make(chan struct{}), archived: make(chan struct{}),
	}
}

// initializing reports whether the job has no JobMaster yet. It is INITIALIZING then, has no vertices, and
// can be cancelled.
func (r *runningJob) initializing() bool { return !sched.Closed(r.made) || r.master == nil }

// Discarder removes the unfinished output of a job that has ended with a status. It may be called again for the same job, and
// from any goroutine. It logs what it cannot remove.
type Discarder func(ctx context.Context, job ids.JobID, status msg.JobStatus)

// New makes a Dispatcher. If store is nil, nothing outlives it.
func New(config Config, store Store, start Starter, discard Discarder, logger logrus.FieldLogger) *Dispatcher {
	d := &Dispatcher{
		store:   keeperOf(store),
		start:   start,
		discard: discard,
		logger:  logger.WithField("role", "dispatcher"),
		ending:  make(chan struct{}),
		running: make(map[ids.JobID]*runningJob),

		archiving: archiving{jobs: make(map[ids.JobID]chan struct{})},
	}
	d.loop = actor.New[event, effect](newCore(config), woken{})
	d.loop.Observe(d.logStep)
	return d
}

// Recover takes over what earlier masters have left. Jobs without a result run again. Call it once, before any job is
// submitted; it may be called before Run.
func (d *Dispatcher) Recover(ctx context.Context, r Recovered) error {
	return d.loop.Post(ctx, recovered{Recovered: r})
}

// Run runs the role until ctx ends, and returns its cause. Jobs that run then are suspended. It waits for
// everything that it started. If a later master leads, the error wraps ha.ErrSuperseded; if what is stored of the
// application was removed, ha.ErrNothing.
func (d *Dispatcher) Run(ctx context.Context) error { return d.loop.Run(ctx, d.startShell) }

// Outcome waits until the cluster has to end, and returns how.
func (d *Dispatcher) Outcome(ctx context.Context) (Outcome, error) {
	if err := d.loop.Await(ctx, d.ending); err != nil {
		return Outcome{}, err
	}
	return d.result, nil
}

// JobMaster returns the JobMaster of a running job.
func (d *Dispatcher) JobMaster(job ids.JobID) (JobMaster, bool) {
	if r := d.runningJob(job); r != nil && !r.initializing() {
		return r.master, true
	}
	return nil, false
}

// Starting tells whether the JobMaster of a job is being made.
func (d *Dispatcher) Starting(job ids.JobID) bool {
	r := d.runningJob(job)
	return r != nil && !sched.Closed(r.made)
}

func (d *Dispatcher) runningJob(job ids.JobID) *runningJob {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.running[job]
}

// Submit accepts a job, and returns when the job is stored, before its JobMaster is made: see Initialized. While HDFS does
// not answer, it waits. Errors: msg.ErrEnding; msg.ErrJobExists while this job runs; msg.ErrJobEnded if it has ended;
// msg.ErrDifferentJob if a job of another plan or with other arguments has this id; msg.ErrNotPrepared if the submission is
// unprepared, and there is no such job; msg.ErrJobWithdrawn if the job was cancelled before;
// msg.ErrTooManyJobs, msg.ErrNoMemory and msg.ErrNotReady, which may pass; msg.ErrJobTooLarge and jobgraph.ErrInvalid,
// which stay; Submission.Unfit; and that of the store if it refuses the job. If a job cannot be started for another reason, it is listed
// as FAILED.
func (d *Dispatcher) Submit(ctx context.Context, s Submission) error {
	if err := s.Graph.Validate(); err != nil {
		return fmt.Errorf("submit job %s: %w", s.Job, err)
	}
	submitted := submission(s)
	err, asking := actor.Ask(ctx, d.loop, func(q actor.Question[error]) event {
		submitted.Question = q
		return submitted
	})
	return errors.Join(asking, err)
}

// submission is the event for a job. It looks through the job's graph.
func submission(s Submission) submitAsked {
	return submitAsked{Submission: s, Identity: identityOf(s.Graph), Need: budget.NeedOf(s.Graph, !s.Detached)}
}

// CancelJob tells a job to end, once the request is stored. It may be repeated, and has no effect on a CANCELED job. Errors:
// msg.ErrJobNotFound, and then a cluster of many jobs refuses a submission of this job for some minutes;
// msg.ErrJobEnded if the job ended otherwise.
func (d *Dispatcher) CancelJob(ctx context.Context, job ids.JobID) error {
	err, asking := actor.Ask(ctx, d.loop, func(q actor.Question[error]) event { return cancelAsked{Job: job, Question: q} })
	return errors.Join(asking, err)
}

// ClientSeen notes that a job's client is alive. A running job continues for its client timeout again, and
// an ended job stays for a while. The call has no effect on a job that needs no client. Error:
// msg.ErrJobNotFound.
func (d *Dispatcher) ClientSeen(ctx context.Context, job ids.JobID) error {
	err, asking := actor.Ask(ctx, d.loop, func(q actor.Question[error]) event { return clientSeen{Job: job, Question: q} })
	return errors.Join(asking, err)
}

// ShutDown requests the end of the cluster, and returns when the request is stored; see Outcome. While HDFS does not
// answer, it waits.
func (d *Dispatcher) ShutDown(ctx context.Context) error {
	err, asking := actor.Ask(ctx, d.loop, func(q actor.Question[error]) event { return shutdownAsked{Question: q} })
	return errors.Join(asking, err)
}

// End sets how the cluster's application has ended; see Outcome. If the cluster was shut down before, its
// outcome stays.
func (d *Dispatcher) End(ctx context.Context, o Outcome) error {
	return d.loop.Post(ctx, endAsked{Outcome: o})
}

// AwaitJobs waits until each job has ended, and returns the outcome of an application of these jobs: that
// of the first that did not finish, or success.
func (d *Dispatcher) AwaitJobs(ctx context.Context) (Outcome, error) {
	return actor.Ask(ctx, d.loop, func(q actor.Question[Outcome]) event { return jobsAwaited{Question: q} })
}

// Jobs returns all jobs in the order of their submission. If the results of earlier masters' jobs cannot be read at once,
// these jobs have only ids and states.
func (d *Dispatcher) Jobs(ctx context.Context) ([]msg.JobOverview, error) {
	reading, stop := sched.WithTimeoutCause(ctx, readTime, errSlow)
	defer stop()
	jobs, err := d.overviews(reading, allJobs)
	if errors.Is(err, errSlow) {
		return d.overviews(ctx, knownJobs)
	}
	return jobs, err
}

// Unfinished returns the jobs that have not ended, in the order of their submission.
func (d *Dispatcher) Unfinished(ctx context.Context) ([]msg.JobOverview, error) {
	return d.overviews(ctx, unfinishedJobs)
}

// Running returns the number of jobs that have not ended.
func (d *Dispatcher) Running(ctx context.Context) (int, error) {
	entries, err := actor.Ask(ctx, d.loop, func(q actor.Question[[]jobEntry]) event { return jobsAsked{Which: unfinishedJobs, Question: q} })
	return len(entries), err
}

func (d *Dispatcher) overviews(ctx context.Context, which whichJobs) ([]msg.JobOverview, error) {
	entries, err := actor.Ask(ctx, d.loop, func(q actor.Question[[]jobEntry]) event { return jobsAsked{Which: which, Question: q} })
	if err != nil {
		return nil, err
	}
	jobs := make([]msg.JobOverview, 0, len(entries))
	for _, e := range entries {
		if e.Overview != nil {
			jobs = append(jobs, *e.Overview)
			continue
		}
		if e.Details != nil { // answered here, because there may be thousands of these, and they don't change
			jobs = append(jobs, e.Details.Overview())
			continue
		}
		var o msg.JobOverview
		err := d.ask(ctx, e.Job, func(j JobMaster) (err error) {
			o, err = j.Overview(ctx)
			return err
		}, func(details *msg.JobDetails) { o = details.Overview() })
		if errors.Is(err, msg.ErrJobNotFound) {
			continue // forgotten meanwhile
		}
		if err != nil {
			return nil, err
		}
		jobs = append(jobs, o)
	}
	return jobs, nil
}

// JobDetails describes a job. If its result cannot be stored, the reason is the first of its exceptions. Errors: msg.ErrJobNotFound, msg.ErrNotReady.
func (d *Dispatcher) JobDetails(ctx context.Context, job ids.JobID) (msg.JobDetails, error) {
	var details msg.JobDetails
	err := d.ask(ctx, job, func(j JobMaster) (err error) {
		details, err = j.Details(ctx)
		return err
	}, func(kept *msg.JobDetails) { details = *kept })
	if r := d.runningJob(job); r != nil {
		if why := r.refused.Load(); why != nil {
			details.Exceptions = slices.Concat([]msg.ExceptionEntry{*why}, details.Exceptions)
		}
	}
	return details, err
}

// VertexSubtasks describes a vertex of a job, which its public id names, with its subtasks. Errors: msg.ErrJobNotFound,
// msg.ErrVertexNotFound, msg.ErrSubtasksGone, msg.ErrNotReady.
func (d *Dispatcher) VertexSubtasks(ctx context.Context, job ids.JobID, vertex string) (answer msg.VertexSubtasks, err error) {
	var unread error
	err = d.ask(ctx, job, func(j JobMaster) (err error) {
		answer, err = j.VertexSubtasks(ctx, vertex)
		return err
	}, func(kept *msg.JobDetails) { answer, unread = subtasks.Of(kept, vertex) })
	return answer, errors.Join(err, unread)
}

// ask asks a job's JobMaster. Before it is made, and after the job's end, it answers from what is kept.
func (d *Dispatcher) ask(ctx context.Context, job ids.JobID, running func(JobMaster) error, kept func(*msg.JobDetails)) error {
	if r := d.runningJob(job); r != nil {
		if r.initializing() {
			kept(&r.initial)
			return nil
		}
		if err := running(r.master); !errors.Is(err, actor.ErrStopped) {
			return err
		}
		switch sched.First(ctx, r.archived, r.failed, d.loop.Done()) {
		case 0:
		case 1: // why, and when, is being stored
			failing := r.initial
			failing.Status = msg.JobFailing
			kept(&failing)
			return nil
		case 2:
			return actor.ErrStopped
		default:
			return context.Cause(ctx)
		}
	}
	entry, err := d.entry(ctx, job, func(q actor.Question[jobEntry]) event { return jobAsked{Job: job, Question: q} })
	switch {
	case err != nil:
		return err
	case entry.Details == nil:
		return fmt.Errorf("%w: job %s is being started", msg.ErrNotReady, job)
	}
	kept(entry.Details)
	return nil
}

// readTime is how long an answer may wait for the store, which may wait for HDFS.
const readTime = 5 * time.Second

// errSlow says that the store has not answered in time.
var errSlow = fmt.Errorf("%w: HDFS answers slowly, and what is stored of ended jobs is being read: ask again", msg.ErrNotReady)

// entry asks for what the Dispatcher knows of a job. Errors: msg.ErrJobNotFound, msg.ErrNotReady.
func (d *Dispatcher) entry(ctx context.Context, job ids.JobID, question func(actor.Question[jobEntry]) event) (jobEntry, error) {
	reading, stop := sched.WithTimeoutCause(ctx, readTime, errSlow)
	defer stop()
	entry, err := actor.Ask(reading, d.loop, question)
	switch {
	case err != nil:
		return entry, err
	case entry.Err != nil:
		return entry, entry.Err
	case entry.Job == "":
		return entry, fmt.Errorf("%w: %s", msg.ErrJobNotFound, job)
	}
	return entry, nil
}
