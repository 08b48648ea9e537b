// Package dispatcher is the role that takes jobs in, gives each its JobMaster,
// and keeps what is left of it when it has ended. It owns the list of jobs, and
// decides when a cluster for one job ends, and how.
//
// Its core is pure; Dispatcher is the loop around it. It owns the
// loop's goroutine, and for each running job one that runs its JobMaster and one
// that brings it what the loop says. The package must never import another role:
// what makes a JobMaster is given from outside.
package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// JobMaster runs one job. Its methods but Run may be called from any goroutine,
// and give actor.ErrStopped once the job has ended or is suspended; Details and
// Overview only once it is suspended.
type JobMaster interface {
	// Run runs the job to its end and gives what is to be kept of it; an error
	// says that it was suspended. What is left to do after the end may take a while.
	Run(ctx context.Context) (msg.JobDetails, collect.Results, error)
	// Cancel ends the job as CANCELED.
	Cancel(ctx context.Context) error
	// Details and Overview describe the job, once it has ended as it was just before:
	// the end is told when nothing is left to do, and who lists jobs does not wait for it.
	Details(ctx context.Context) (msg.JobDetails, error)
	Overview(ctx context.Context) (msg.JobOverview, error)
	// CollectPage gives a page of a collected result, waiting for its first
	// record.
	CollectPage(ctx context.Context, name string, cursor int64, wait time.Duration) (msg.CollectPage, error)
}

// Starter makes the JobMaster of a job, which does not run yet.
type Starter func(StartJobMaster) (JobMaster, error)

// Dispatcher is the role's running form. Make it with New, and run it once with
// Run; its other methods may be called from any goroutine, before Run too, and
// give actor.ErrStopped after it.
type Dispatcher struct {
	loop   *actor.Loop[event, effect]
	start  Starter
	logger logrus.FieldLogger
	ending chan struct{} // closed by the loop when outcome is set
	result Outcome       // set once, before ending is closed

	mu      sync.Mutex // guards running
	running map[ids.JobID]*runningJob
}

// runningJob is a job whose JobMaster answers for it.
type runningJob struct {
	master   JobMaster
	cancel   chan struct{} // has room for one: the job is to be cancelled
	archived chan struct{} // closed when the Dispatcher answers for the job
}

// New makes a Dispatcher.
func New(config Config, start Starter, logger logrus.FieldLogger) *Dispatcher {
	d := &Dispatcher{
		start:   start,
		logger:  logger.WithField("role", "dispatcher"),
		ending:  make(chan struct{}),
		running: make(map[ids.JobID]*runningJob),
	}
	d.loop = actor.New[event, effect](newCore(config), woken{})
	d.loop.Observe(d.logStep)
	return d
}

// Run runs the role until ctx ends, and gives its cause. Jobs that run then are
// suspended. It waits for all that it started.
func (d *Dispatcher) Run(ctx context.Context) error { return d.loop.Run(ctx, d.startShell) }

// Outcome waits until the cluster has to end, and says how.
func (d *Dispatcher) Outcome(ctx context.Context) (Outcome, error) {
	select {
	case <-d.ending:
		return d.result, nil
	case <-d.loop.Done():
		return Outcome{}, actor.ErrStopped
	case <-ctx.Done():
		return Outcome{}, context.Cause(ctx)
	}
}

// JobMaster finds the JobMaster of a running job.
func (d *Dispatcher) JobMaster(job ids.JobID) (JobMaster, bool) {
	if r := d.runningJob(job); r != nil {
		return r.master, true
	}
	return nil, false
}

func (d *Dispatcher) runningJob(job ids.JobID) *runningJob {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.running[job]
}

// Submit takes a job in and starts it. Errors: msg.ErrEnding, msg.ErrJobExists while
// a job of this id runs, msg.ErrJobEnded when one has, msg.ErrJobWithdrawn when it was
// cancelled before; msg.ErrTooManyJobs and msg.ErrNoMemory, which may be well later;
// msg.ErrJobTooLarge and jobgraph.ErrInvalid, which stay. A job that cannot be started for
// another reason has FAILED, and is listed.
func (d *Dispatcher) Submit(ctx context.Context, s Submission) error {
	err, asking := actor.Ask(ctx, d.loop, func(q actor.Question[error]) event { return submitAsked{Submission: s, Question: q} })
	return errors.Join(asking, err)
}

// CancelJob tells a job to end. Repeating it is harmless, and so is cancelling a
// CANCELED job. msg.ErrJobNotFound, and a cluster of many jobs takes no submission of it then for
// some minutes; msg.ErrJobEnded for one that ended otherwise.
func (d *Dispatcher) CancelJob(ctx context.Context, job ids.JobID) error {
	err, asking := actor.Ask(ctx, d.loop, func(q actor.Question[error]) event { return cancelAsked{Job: job, Question: q} })
	return errors.Join(asking, err)
}

// ClientSeen says that a job's client is alive: for as long again as its submission
// says the job goes on, and one that has ended stays for a while. It does no harm to a
// job that needs no client.
// msg.ErrJobNotFound.
func (d *Dispatcher) ClientSeen(ctx context.Context, job ids.JobID) error {
	err, asking := actor.Ask(ctx, d.loop, func(q actor.Question[error]) event { return clientSeen{Job: job, Question: q} })
	return errors.Join(asking, err)
}

// ShutDown asks for the end of the cluster; see Outcome.
func (d *Dispatcher) ShutDown(ctx context.Context) error { return d.loop.Post(ctx, shutdownAsked{}) }

// End says how the application has ended that the cluster is for; see Outcome. One
// that was shut down before keeps its outcome.
func (d *Dispatcher) End(ctx context.Context, o Outcome) error {
	return d.loop.Post(ctx, endAsked{Outcome: o})
}

// AwaitJobs waits until each job has ended, and says how an application ends that was for
// all of them: as the first that did not finish, or as succeeded.
func (d *Dispatcher) AwaitJobs(ctx context.Context) (Outcome, error) {
	return actor.Ask(ctx, d.loop, func(q actor.Question[Outcome]) event { return jobsAwaited{Question: q} })
}

// Jobs lists all jobs in the order of their submission.
func (d *Dispatcher) Jobs(ctx context.Context) ([]msg.JobOverview, error) {
	entries, err := actor.Ask(ctx, d.loop, func(q actor.Question[[]jobEntry]) event { return jobsAsked{Question: q} })
	if err != nil {
		return nil, err
	}
	jobs := make([]msg.JobOverview, 0, len(entries))
	for _, e := range entries {
		if e.Details != nil { // there may be thousands of these, and they don't change
			jobs = append(jobs, overviewOf(e.Details))
			continue
		}
		var o msg.JobOverview
		err := d.ask(ctx, e.Job, func(j JobMaster) (err error) {
			o, err = j.Overview(ctx)
			return err
		}, func(details *msg.JobDetails) { o = overviewOf(details) })
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

// JobDetails describes a job: msg.ErrJobNotFound, msg.ErrNotReady.
func (d *Dispatcher) JobDetails(ctx context.Context, job ids.JobID) (msg.JobDetails, error) {
	var details msg.JobDetails
	err := d.ask(ctx, job, func(j JobMaster) (err error) {
		details, err = j.Details(ctx)
		return err
	}, func(kept *msg.JobDetails) { details = *kept })
	return details, err
}

// ask puts a question to a job's JobMaster, or once the job has ended to what is
// kept of it.
func (d *Dispatcher) ask(ctx context.Context, job ids.JobID, running func(JobMaster) error, ended func(*msg.JobDetails)) error {
	if r := d.runningJob(job); r != nil {
		if err := running(r.master); !errors.Is(err, actor.ErrStopped) {
			return err
		}
		if err := d.whenArchived(ctx, r); err != nil {
			return err
		}
	}
	entry, err := actor.Ask(ctx, d.loop, func(q actor.Question[jobEntry]) event { return jobAsked{Job: job, Question: q} })
	switch {
	case err != nil:
		return err
	case entry.Job == "":
		return fmt.Errorf("%w: %s", msg.ErrJobNotFound, job)
	case entry.Details == nil: // submitted a moment ago
		return fmt.Errorf("%w: job %s is being started", msg.ErrNotReady, job)
	}
	ended(entry.Details)
	return nil
}

// whenArchived waits until the Dispatcher has what a JobMaster left.
func (d *Dispatcher) whenArchived(ctx context.Context, r *runningJob) error {
	select {
	case <-r.archived:
		return nil
	case <-d.loop.Done():
		return actor.ErrStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// JobResult says how a job ended. While it runs that is waited for up to the
// given time, and then the answer has the status that it is in.
// msg.ErrJobNotFound.
func (d *Dispatcher) JobResult(ctx context.Context, job ids.JobID, wait time.Duration) (msg.JobEnded, error) {
	if r := d.runningJob(job); r != nil {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-r.archived:
		case <-timer.C:
			details, err := d.JobDetails(ctx, job)
			if err != nil || !details.Status.GloballyTerminal() {
				return resultOf(&details), err
			}
		case <-d.loop.Done():
			return msg.JobEnded{}, actor.ErrStopped
		case <-ctx.Done():
			return msg.JobEnded{}, context.Cause(ctx)
		}
	}
	entry, err := actor.Ask(ctx, d.loop, func(q actor.Question[jobEntry]) event { return resultAsked{Job: job, Question: q} })
	switch {
	case err != nil:
		return msg.JobEnded{}, err
	case entry.Job == "":
		return msg.JobEnded{}, fmt.Errorf("%w: %s", msg.ErrJobNotFound, job)
	case entry.Details == nil:
		return msg.JobEnded{Job: job, Status: msg.JobInitializing}, nil
	}
	return resultOf(entry.Details), nil
}

// CollectPage gives a page of a collected result from a cursor on, waiting for
// its first record up to the given time: then the page is empty. Asking for a
// cursor says that everything before it was read. msg.ErrJobNotFound,
// msg.ErrNotReady, msg.ErrResultNotFound, msg.ErrResultGone. The result of a job
// that could not be run has ended.
func (d *Dispatcher) CollectPage(ctx context.Context, job ids.JobID, name string, cursor int64, wait time.Duration) (msg.CollectPage, error) {
	if r := d.runningJob(job); r != nil {
		page, err := r.master.CollectPage(ctx, name, cursor, wait)
		if !errors.Is(err, actor.ErrStopped) {
			return page, err
		}
		if err := d.whenArchived(ctx, r); err != nil {
			return msg.CollectPage{}, err
		}
	}
	answer, err := actor.Ask(ctx, d.loop, func(q actor.Question[pageAnswer]) event {
		return pageAsked{Job: job, Name: name, Cursor: cursor, Question: q}
	})
	return answer.Page, errors.Join(err, answer.Err)
}

// resultOf is how a job ended, or how far it is. Only a failed job has a failure.
func resultOf(d *msg.JobDetails) msg.JobEnded {
	r := msg.JobEnded{Job: d.ID, Status: d.Status, Counters: d.Counters, Failure: failureOf(d), Steps: d.Steps}
	if !d.End.IsZero() {
		r.Duration = d.End.Sub(d.Start)
	}
	return r
}

// overviewOf is the line of a list for a job that has ended.
func overviewOf(d *msg.JobDetails) msg.JobOverview {
	o := msg.JobOverview{
		ID: d.ID, Name: d.Name, Status: d.Status, Start: d.Start, End: d.End, Modified: d.End,
		Tasks: make(map[msg.ExecutionState]int),
	}
	for _, v := range d.Vertices {
		o.TotalTasks += v.Parallelism
		for state, n := range v.Tasks {
			o.Tasks[state] += n
		}
	}
	return o
}
