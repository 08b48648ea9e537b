package dispatcher

import (
	"context"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// shell performs effects. Only the loop's goroutine calls Perform.
type shell struct{ *Dispatcher }

func (d *Dispatcher) startShell(context.Context) actor.Shell[effect] { return shell{d} }

// Perform performs an effect.
func (s shell) Perform(_ context.Context, e effect) {
	switch e := e.(type) {
	case StartJobMaster:
		s.startJobMaster(e)
	case cancelJob:
		if r := s.runningJob(e.Job); r != nil {
			select {
			case r.cancel <- struct{}{}:
			default: // it is being cancelled already
			}
		}
	case jobArchived:
		s.mu.Lock()
		if r := s.running[e.Job]; r != nil {
			delete(s.running, e.Job)
			close(r.archived)
		}
		s.mu.Unlock()
	case endCluster:
		s.result = e.Outcome
		close(s.ending)
	case reply, jobForgotten, dropped: // the loop performs replies; the others are only for the log
	}
}

// startJobMaster makes a JobMaster and runs it until the role ends.
func (s shell) startJobMaster(e StartJobMaster) {
	id := e.Submission.Job
	master, err := s.start(e)
	if err != nil {
		s.loop.Go(func(ctx context.Context) {
			s.loop.Tell(ctx, jobMasterFailed{Job: id, JobMaster: e.JobMaster, Err: err})
		})
		return
	}
	r := &runningJob{master: master, cancel: make(chan struct{}, 1), archived: make(chan struct{})}
	s.mu.Lock()
	s.running[id] = r
	s.mu.Unlock()
	s.loop.Go(func(ctx context.Context) {
		details, results, err := master.Run(ctx)
		if err != nil {
			if ctx.Err() != nil {
				s.logger.WithFields(logrus.Fields{"job": id, "err": err}).Info("job is suspended")
				return
			}
			s.loop.Tell(ctx, jobMasterFailed{Job: id, JobMaster: e.JobMaster, Err: err})
			return
		}
		s.loop.Tell(ctx, jobEnded{Job: id, JobMaster: e.JobMaster, Details: details, Results: results})
	})
	s.loop.Go(func(ctx context.Context) { s.passCancel(ctx, id, r) })
}

// passCancel passes one cancellation to a JobMaster. The loop must not wait for the JobMaster's mailbox.
func (s shell) passCancel(ctx context.Context, id ids.JobID, r *runningJob) {
	if sched.First(ctx, r.cancel, r.archived) != 0 {
		return
	}
	if err := r.master.Cancel(ctx); err != nil {
		s.logger.WithFields(logrus.Fields{"job": id, "err": err}).Debug("job cannot be cancelled any more")
	}
}
