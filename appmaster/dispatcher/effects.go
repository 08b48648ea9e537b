package dispatcher

import (
	"context"
	"errors"
	"fmt"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// shell performs effects. Only the loop's goroutine calls Perform.
type shell struct {
	*Dispatcher
	stopStoring   context.CancelFunc
	storing       context.Context //nolint:containedctx // of requests to the store; ends with the cluster, or with the loop
	writes, reads sched.Permits   // for requests to the store
	small         sched.Permits   // for changes without content, which need only the NameNode
	large         sched.Permits   // for a large result, of which a copy is made
}

func (d *Dispatcher) startShell(ctx context.Context) actor.Shell[effect] {
	s := &shell{Dispatcher: d, writes: sched.NewPermits(atOnce), reads: sched.NewPermits(atOnce), small: sched.NewPermits(atOnce), large: sched.NewPermits(1)}
	s.storing, s.stopStoring = context.WithCancel(ctx)
	return s
}

// Perform performs an effect.
func (s *shell) Perform(_ context.Context, e effect) {
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
	case resultRefused:
		if r := s.runningJob(e.Job); r != nil {
			r.refused.Store(&e.Why)
		}
	case jobArchived:
		s.mu.Lock()
		if r := s.running[e.Job]; r != nil {
			delete(s.running, e.Job)
			close(r.archived)
		}
		s.mu.Unlock()
	case endCluster:
		s.stopStoring()
		s.result = e.Outcome
		close(s.ending)
	case archiveJob:
		s.archiveJob(e)
	case archiveDone:
		s.archiving.end(e.Job)
	case storeJob, storeCancel, storeResult, storeStop, removeJob, removeResult, loadResult, loadOverview:
		s.askStore(e)
	case reply, jobForgotten, dropped, archiveDelayed: // the loop performs replies; the others are only for the log
	}
}

// startJobMaster makes a JobMaster and runs it until the role ends. To make it takes time in proportion to
// the job, so the loop does not wait.
func (s *shell) startJobMaster(e StartJobMaster) {
	r := newRunningJob(e)
	s.mu.Lock()
	s.running[e.Submission.Job] = r
	s.mu.Unlock()
	s.loop.Go(func(ctx context.Context) { s.runJobMaster(ctx, e, r) })
	s.loop.Go(func(ctx context.Context) { s.passCancel(ctx, e.Submission.Job, r) })
}

// runJobMaster makes a JobMaster and runs it. If the role ends meanwhile, Run returns at once, and undoes
// what was made.
func (s *shell) runJobMaster(ctx context.Context, e StartJobMaster, r *runningJob) {
	id := e.Submission.Job
	var details msg.JobDetails
	var results collect.Results
	master, err := s.make(ctx, e, r)
	if err == nil {
		r.master = master
		if e.Cancelled {
			s.passed(id, master.Cancel(ctx)) // before it runs
		}
	}
	close(r.made)
	if err == nil {
		details, results, err = master.Run(ctx)
	}
	switch {
	case err == nil:
		s.loop.Tell(ctx, jobEnded{Job: id, JobMaster: e.JobMaster, Details: details, Results: results})
	case errors.Is(err, ha.ErrSuperseded):
		s.loop.Fail(fmt.Errorf("run job %s: %w", id, err))
	case ctx.Err() != nil:
		s.logger.WithFields(logrus.Fields{"job": id, "err": err}).Info("job is suspended")
	default:
		close(r.failed)
		s.loop.Tell(ctx, jobMasterFailed{Job: id, JobMaster: e.JobMaster, Err: err})
	}
}

// errCancelled ends the making of a JobMaster that may take long, because an output of its job is on an HDFS that is away.
var errCancelled = errors.New("job is cancelled")

// make makes a JobMaster, unless the job is cancelled meanwhile.
func (s *shell) make(ctx context.Context, e StartJobMaster, r *runningJob) (JobMaster, error) {
	starting, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	s.loop.Go(func(ctx context.Context) {
		if sched.First(ctx, r.unwanted, r.made) == 0 {
			stop(errCancelled)
		}
	})
	return s.start(starting, e)
}

// passCancel passes one cancellation to a JobMaster, once it is made. The loop must not wait for the
// JobMaster's mailbox.
func (s *shell) passCancel(ctx context.Context, id ids.JobID, r *runningJob) {
	if sched.First(ctx, r.cancel, r.archived) != 0 {
		return
	}
	close(r.unwanted)
	if sched.First(ctx, r.made) != 0 || r.master == nil {
		return
	}
	s.passed(id, r.master.Cancel(ctx))
}

// passed logs that a cancellation has come too late.
func (s *shell) passed(id ids.JobID, err error) {
	if err != nil {
		s.logger.WithFields(logrus.Fields{"job": id, "err": err}).Debug("job cannot be cancelled any more")
	}
}
