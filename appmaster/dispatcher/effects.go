package dispatcher

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// shell performs effects. Only the loop's goroutine calls Perform.
type shell struct {
	*Dispatcher
	timers *actor.Timers[struct{}]
	jobs   sync.WaitGroup
}

func newShell(ctx context.Context, d *Dispatcher) *shell {
	s := &shell{Dispatcher: d}
	s.timers = actor.NewTimers(func(struct{}) { s.post(ctx, Woken{}) })
	return s
}

// wait stops what the shell started; its context has ended.
func (s *shell) wait() {
	s.timers.Stop()
	s.jobs.Wait()
}

// Perform hands an effect over to whoever it is for.
func (s *shell) Perform(ctx context.Context, effect Effect) {
	switch e := effect.(type) {
	case StartJobMaster:
		s.startJobMaster(ctx, e)
	case CancelJob:
		if r := s.runningJob(e.Job); r != nil {
			select {
			case r.cancel <- struct{}{}:
			default: // it is being cancelled already
			}
		}
	case JobArchived:
		s.mu.Lock()
		if r := s.running[e.Job]; r != nil {
			delete(s.running, e.Job)
			close(r.archived)
		}
		s.mu.Unlock()
	case EndCluster:
		s.result = e.Outcome
		close(s.ending)
	case Wake:
		s.timers.Set(struct{}{}, time.Until(e.At))
	case AnswerError:
		e.Reply <- e.Err // has room: see actor.Ask
	case AnswerJob:
		e.Reply <- e.Entry
	case AnswerJobs:
		e.Reply <- e.Entries
	case AnswerPage:
		e.Reply <- e.Page
	case AnswerOutcome:
		e.Reply <- e.Outcome
	case JobForgotten, Dropped: // for the log only
	}
}

// startJobMaster makes a JobMaster and runs it under the role's life.
func (s *shell) startJobMaster(ctx context.Context, e StartJobMaster) {
	id := e.Submission.Job
	master, err := s.start(e)
	if err != nil {
		s.jobs.Go(func() { s.post(ctx, JobMasterFailed{Job: id, JobMaster: e.JobMaster, Err: err}) })
		return
	}
	r := &runningJob{master: master, cancel: make(chan struct{}, 1), archived: make(chan struct{})}
	s.mu.Lock()
	s.running[id] = r
	s.mu.Unlock()
	s.jobs.Go(func() {
		details, results, err := master.Run(ctx)
		if err != nil {
			if ctx.Err() != nil {
				s.logger.WithFields(logrus.Fields{"job": id, "err": err}).Info("job is suspended")
				return
			}
			s.post(ctx, JobMasterFailed{Job: id, JobMaster: e.JobMaster, Err: err})
			return
		}
		s.post(ctx, JobEnded{Job: id, JobMaster: e.JobMaster, Details: details, Results: results})
	})
	s.jobs.Go(func() { s.passCancel(ctx, id, r) })
}

// passCancel brings a cancel to a JobMaster, whose mailbox the loop must not
// wait for. One is enough.
func (s *shell) passCancel(ctx context.Context, id ids.JobID, r *runningJob) {
	select {
	case <-r.cancel:
		if err := r.master.Cancel(ctx); err != nil {
			s.logger.WithFields(logrus.Fields{"job": id, "err": err}).Debug("job cannot be cancelled any more")
		}
	case <-r.archived:
	case <-ctx.Done():
	}
}

// post gives the loop an event that it need not hear when it has ended.
func (d *Dispatcher) post(ctx context.Context, event Event) {
	if err := d.loop.Post(ctx, event); err != nil {
		d.logger.WithError(err).Debug("event comes after the end")
	}
}

// logStep logs one line for each change of state.
func (d *Dispatcher) logStep(event Event, effects []Effect) {
	if failed, is := event.(JobMasterFailed); is {
		d.logger.WithFields(logrus.Fields{"job": failed.Job, "err": failed.Err}).Error("job cannot be run")
	}
	for _, effect := range effects {
		switch e := effect.(type) {
		case StartJobMaster:
			d.logger.WithFields(logrus.Fields{"job": e.Submission.Job, "name": e.Submission.Graph.Name}).Info("job is started")
		case CancelJob:
			d.logger.WithFields(logrus.Fields{"job": e.Job, "why": cmp.Or(e.Why, "it was asked for")}).Info("job is cancelled")
		case JobArchived:
			d.logger.WithFields(logrus.Fields{"job": e.Job, "status": e.Status}).Info("job has ended")
		case EndCluster:
			why, _, _ := strings.Cut(e.Outcome.Diagnostics, "\n")
			d.logger.WithFields(logrus.Fields{"status": e.Outcome.Status, "why": why}).Info("cluster ends")
		case JobForgotten:
			d.logger.WithField("job", e.Job).Debug("job is not kept any longer")
		case Dropped:
			d.logger.WithFields(logrus.Fields{"job": e.Job, "why": e.Why}).Debug("event dropped")
		case Wake, AnswerError, AnswerJob, AnswerJobs, AnswerPage, AnswerOutcome:
		}
	}
}
