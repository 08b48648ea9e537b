package run

import (
	"context"
	"errors"
	"time"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// initialized waits until the cluster has set up a job that this command does not follow, as Flink's client
// does. It returns FAILED with the reason if that was not possible. If it cannot ask, the job runs all the
// same, and a line says so.
func (r *runner) initialized(ctx context.Context, job *running) (msg.JobEnded, error) {
	state, err := r.awaitSetUp(ctx, job)
	for r.next(job, err) {
		state, err = r.awaitSetUp(ctx, job)
	}
	switch {
	case err == nil, context.Cause(ctx) != nil:
		return state, err
	case job.replaced && client.NotFound(err): // it was lost
		return msg.JobEnded{}, err
	case errors.Is(err, client.ErrApplicationEnded):
		if report, unknown := r.cluster.report(ctx); job.alone && unknown == nil && report.FinalStatus == records.FinalSucceeded {
			return msg.JobEnded{}, nil // the job has ended already
		}
		return msg.JobEnded{}, err
	}
	r.Line("this command cannot see whether %s begins: %v", job.name, err)
	return msg.JobEnded{}, nil
}

// awaitSetUp asks for the job's state until the job is no longer INITIALIZING. As in watch, endure handles
// a master that does not answer.
func (r *runner) awaitSetUp(ctx context.Context, job *running) (msg.JobEnded, error) {
	reached, err := r.reachJob(ctx, job)
	if err != nil {
		return msg.JobEnded{}, r.lost(ctx, job, err)
	}
	defer reached.Close()
	a := attempt{master: reached, number: reached.Attempt, job: job, report: r.cluster.report}
	began := time.Now()
	quiet := silence{Wait: progress.Wait{Since: began}}
	for {
		state, err := a.look(ctx)
		switch {
		case err == nil && state.Status == msg.JobFailed:
			return r.result(ctx, a)
		case err == nil && state.Status != msg.JobInitializing:
			return msg.JobEnded{Status: state.Status}, nil
		case err == nil:
			quiet = silence{Wait: progress.Wait{Since: time.Now()}, heard: true}
		case context.Cause(ctx) != nil:
			return msg.JobEnded{}, context.Cause(ctx)
		case !client.Unreachable(err):
			return msg.JobEnded{}, r.lost(ctx, job, err)
		default:
			if err := r.endure(ctx, a, &quiet, err); err != nil {
				return msg.JobEnded{}, err
			}
		}
		if err := pause(ctx, client.UntilNextLook(time.Since(began), firstLooks, lookInterval)); err != nil {
			return msg.JobEnded{}, err
		}
	}
}
