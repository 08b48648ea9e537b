package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// Initialized waits until a submitted job is no longer INITIALIZING, and returns its state: FAILED with the
// reason if its JobMaster could not be made. Error: msg.ErrJobNotFound.
func (d *Dispatcher) Initialized(ctx context.Context, job ids.JobID) (msg.JobEnded, error) {
	if r := d.runningJob(job); r != nil {
		if err := d.loop.Await(ctx, r.made); err != nil {
			return msg.JobEnded{}, err
		}
		if r.master == nil {
			if err := d.loop.Await(ctx, r.archived); err != nil {
				return msg.JobEnded{}, err
			}
		}
	}
	return d.JobResult(ctx, job, 0)
}

// JobResult returns how a job ended. It waits for the end up to the given time, and then returns the
// current status. Until the end is stored, that is not the end. Errors: msg.ErrJobNotFound, msg.ErrNotReady.
func (d *Dispatcher) JobResult(ctx context.Context, job ids.JobID, wait time.Duration) (msg.JobEnded, error) {
	if r := d.runningJob(job); r != nil {
		late, stop := sched.After(ctx, wait)
		defer stop()
		switch sched.First(ctx, r.archived, late, d.loop.Done()) {
		case 0:
		case 1:
			details, err := d.JobDetails(ctx, job)
			if err != nil || !details.Status.GloballyTerminal() {
				return resultOf(&details), err
			}
		case 2:
			return msg.JobEnded{}, actor.ErrStopped
		default:
			return msg.JobEnded{}, context.Cause(ctx)
		}
	}
	entry, err := d.entry(ctx, job, func(q actor.Question[jobEntry]) event { return resultAsked{Job: job, Question: q} })
	switch {
	case err != nil:
		return msg.JobEnded{}, err
	case entry.Details == nil:
		return msg.JobEnded{}, fmt.Errorf("%w: job %s is being stored", msg.ErrNotReady, job)
	}
	return resultOf(entry.Details), nil
}

// CollectPage returns a page of a collected result from a cursor on. It waits for the first record up to
// the given time, and then returns an empty page. A request for a cursor says that the client has read
// everything before it. Errors: msg.ErrJobNotFound, msg.ErrNotReady, msg.ErrResultNotFound,
// msg.ErrResultGone. For a job that could not be run it returns an empty last page.
func (d *Dispatcher) CollectPage(ctx context.Context, job ids.JobID, name string, cursor int64, wait time.Duration) (msg.CollectPage, error) {
	if r := d.runningJob(job); r != nil {
		if page, err := d.collectFrom(ctx, r, name, cursor, wait); !errors.Is(err, errLeft) {
			return page, err
		}
	}
	reading, stop := sched.WithTimeoutCause(ctx, readTime, errSlow)
	defer stop()
	answer, err := actor.Ask(reading, d.loop, func(q actor.Question[pageAnswer]) event {
		return pageAsked{Job: job, Name: name, Cursor: cursor, Question: q}
	})
	return answer.Page, errors.Join(err, answer.Err)
}

// errLeft says that the Dispatcher answers for a job.
var errLeft = errors.New("the job has no JobMaster any more")

// collectFrom asks a job's JobMaster for a page. It waits until the JobMaster is made, and after the job's end until the
// result is stored. Error: errLeft.
func (d *Dispatcher) collectFrom(ctx context.Context, r *runningJob, name string, cursor int64, wait time.Duration) (msg.CollectPage, error) {
	began := sched.Now(ctx)
	late, stop := sched.After(ctx, wait)
	defer stop()
	page, err := d.await(ctx, r.made, late, cursor)
	if err != nil || !sched.Closed(r.made) {
		return page, err
	}
	if r.master != nil {
		page, err := r.master.CollectPage(ctx, name, cursor, max(wait-sched.Now(ctx).Sub(began), 0))
		if !errors.Is(err, actor.ErrStopped) {
			return page, err
		}
	}
	page, err = d.await(ctx, r.archived, late, cursor)
	if err == nil && sched.Closed(r.archived) {
		err = errLeft
	}
	return page, err
}

// await waits for something, but no longer than until late. It returns an empty page.
func (d *Dispatcher) await(ctx context.Context, something, late <-chan struct{}, cursor int64) (msg.CollectPage, error) {
	switch sched.First(ctx, something, late, d.loop.Done()) {
	case 0, 1:
		return collect.Nothing(cursor), nil
	case 2:
		return msg.CollectPage{}, actor.ErrStopped
	default:
		return msg.CollectPage{}, context.Cause(ctx)
	}
}

// resultOf returns how a job ended, or its current state. Only a failed job has a failure.
func resultOf(d *msg.JobDetails) msg.JobEnded {
	r := msg.JobEnded{Job: d.ID, Status: d.Status, Counters: d.Counters, Failure: failureOf(d), Steps: d.Steps}
	if !d.End.IsZero() {
		r.Duration = d.End.Sub(d.Start)
	}
	return r
}
