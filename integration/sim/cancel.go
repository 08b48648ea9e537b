package sim

import (
	"context"
	"errors"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster"
	"github.com/bobbin-yarn/bobbin/integration/sim/engine"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// submitted is a job and the client that submits it.
type submitted struct {
	*client
	job *job
}

// cancellable are the jobs that their users can cancel. The jobs of a program have ids that users do not
// know.
func (w *World) cancellable() []submitted {
	if w.schedule.Mode == Application {
		return nil
	}
	var all []submitted
	for _, c := range alive(w.clients, func(c *client) *engine.Process { return c.process }) {
		for _, j := range c.jobs {
			all = append(all, submitted{c, j})
		}
	}
	return all
}

// cancel has the user cancel the job. Without an answer the user tries again.
func (s submitted) cancel() {
	s.job.canceled = true
	s.w.engine.After(0, s.process, func() {
		s.process.Go(func() {
			for !s.over() && !s.answered() && sched.Sleep(s.ctx, time.Second) == nil {
			}
		})
	})
}

// answered asks the master to cancel the job, and reports whether there was an answer that counts.
func (s submitted) answered() bool {
	err := s.request(s.ctx, func(ctx context.Context, d *appmaster.Desk) error { return d.Gateway.CancelJob(ctx, s.job.id) })
	if errors.Is(err, msg.ErrJobNotFound) {
		return s.w.schedule.Mode == Session // which refuses the job when it comes; otherwise the master will take it soon
	}
	return err == nil || errors.Is(err, msg.ErrJobEnded)
}

// withdrawn reports whether the user has cancelled the job of the client's application.
func (c *client) withdrawn() bool { return c.w.schedule.Mode == PerJob && c.jobs[0].canceled }

// excused reports whether the client's application need not succeed: a fault has made that impossible, or
// YARN starts no other attempt.
func (c *client) excused() bool {
	return c.w.excused[c.app] || c.w.schedule.Attempts > 0 && c.report.State == records.ApplicationFailed
}

// excuses reports whether the application may fail like this. An accepted job is never lost.
func (c *client) excuses(fault error) bool { return c.excused() && !errors.Is(fault, errJobLost) }
