package sim

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// front is what clients reach of a master while it serves: REST without HTTP.
type front struct {
	m    *master
	desk appmaster.Desk
}

// Serve implements appmaster.Front.
func (f front) Serve(ctx context.Context) error {
	f.m.serving, f.m.desk, f.m.leads = ctx, &f.desk, true
	sched.First(ctx)
	f.m.desk = nil
	return nil
}

// requestTimeout is how long a client waits for the answer of a master.
const requestTimeout = time.Minute

// request has the newest master of the client's application do something. The error may also say that
// there is no answer.
func (c *client) request(ctx context.Context, do func(ctx context.Context, d *appmaster.Desk) error) error {
	w := c.w
	var m *master
	for _, one := range w.masters {
		if one.attempt.Application == c.app {
			m = one
		}
	}
	if m == nil {
		return errAway
	}
	var fault error
	answered := false
	answer := func(err error) {
		w.engine.After(between(c.jitter, leastDelay, mostDelay), c.process, func() { fault, answered = err, true })
	}
	w.engine.After(between(c.jitter, leastDelay, mostDelay), m.process, func() {
		m.process.Go(func() {
			if m.desk == nil {
				answer(errAway)
				return
			}
			answer(do(m.serving, m.desk))
		})
	})
	limited, cancel := sched.WithTimeoutCause(ctx, requestTimeout, yarnrpc.ErrTimeout)
	defer cancel()
	sched.Until(limited, func() bool { return answered || limited.Err() != nil })
	if !answered {
		return context.Cause(limited)
	}
	return fault
}

// session deploys a session, runs all jobs in it, and shuts it down.
func (w *World) session(ctx context.Context, c *client) error {
	if err := c.deploy(ctx, launch.Session, nil); err != nil {
		return err
	}
	var running sched.Group
	faults := make([]error, len(w.jobs))
	for i, j := range w.jobs {
		running.Go(ctx, func() { faults[i] = c.runJob(ctx, j) })
	}
	running.Wait(ctx)
	if err := errors.Join(faults...); err != nil && !c.excuses(err) {
		return err
	}
	for _, j := range w.jobs { // the session still knows it, unless it has started again
		_, _ = c.result(ctx, j)
	}
	stored := false
	return c.follow(ctx, func() bool {
		if c.report.State == records.ApplicationRunning && !stored { // again, because the answer or the attempt may be lost
			err := c.request(ctx, func(ctx context.Context, d *appmaster.Desk) error { return d.Gateway.ShutDown(ctx) })
			stored = err == nil && !w.schedule.Unprotected // the next attempt ends the session by itself
		}
		return c.over()
	})
}

// result asks for the end of a job.
func (c *client) result(ctx context.Context, j *job) (ended msg.JobEnded, err error) {
	err = c.request(ctx, func(ctx context.Context, d *appmaster.Desk) (err error) {
		ended, err = d.Gateway.JobResult(ctx, j.id, 10*time.Second)
		return err
	})
	if err == nil && ended.Status.GloballyTerminal() {
		c.w.watch.tell(j.id, ended.Status)
		if ended.Status == msg.JobCanceled {
			c.w.facts[Canceled]++
		}
	}
	return ended, err
}

// gone reports whether a job that its user has cancelled does not run any more, or has never run.
func gone(ended msg.JobEnded, err error) bool {
	return err == nil && ended.Status == msg.JobCanceled || errors.Is(err, msg.ErrJobWithdrawn) || errors.Is(err, msg.ErrJobNotFound)
}

var errNotFinished = errors.New("job has not finished")

// errJobLost says that a session does not know a job that it has accepted.
var errJobLost = errors.New("an accepted job is lost")

// runJob submits a job to the session and waits for its end. A session without high availability that starts again has
// lost its jobs: then the user submits the job again.
func (c *client) runJob(ctx context.Context, j *job) error {
	if err := sched.Sleep(ctx, j.at); err != nil {
		return err
	}
	for ctx.Err() == nil {
		var ended msg.JobEnded
		err := c.request(ctx, func(ctx context.Context, d *appmaster.Desk) error {
			graph, err := j.withFile(ctx, d)
			if err != nil {
				return err
			}
			err = d.Session.SubmitJob(ctx, restapi.JobSubmission{Job: j.id, Graph: graph, Program: restapi.ProgramID{SHA256: programHash}})
			if errors.Is(err, msg.ErrJobExists) || errors.Is(err, msg.ErrJobEnded) { // the answer was lost
				err = nil
			}
			return err
		})
		if err == nil {
			j.accepted = true
		}
		for err == nil && !ended.Status.GloballyTerminal() {
			ended, err = c.result(ctx, j)
		}
		if j.accepted && !c.w.schedule.Unprotected && errors.Is(err, msg.ErrJobNotFound) && !c.look(ctx) {
			return fmt.Errorf("%s: %w: %w", j.id, errJobLost, err)
		}
		switch {
		case errors.Is(err, msg.ErrProgramNotFound): // it went with a session that could not use it
			_, err = again(ctx, func() (launch.Resource, error) { return c.stageProgram(ctx) })
			if err != nil {
				return err
			}
		case err == nil && ended.Status == msg.JobFinished, j.canceled && gone(ended, err):
			return nil
		case err == nil && ended.Status == msg.JobFailed && c.w.schedule.mayFail():
			j.failed = true
			c.w.facts[FailedJobs]++
			return nil
		case err == nil:
			return fmt.Errorf("%s is %s: %w: %+v", j.id, ended.Status, errNotFinished, ended)
		case c.look(ctx):
			return fmt.Errorf("%s is lost: %w", j.id, errNotFinished)
		}
		if err := sched.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	return context.Cause(ctx)
}
