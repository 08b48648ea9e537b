package appmaster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/appmaster/tokenmanager"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// mode is the behaviour of one kind of cluster.
type mode interface {
	// run does the work of the cluster, and waits until the cluster has to end. It calls taken when the
	// Dispatcher can answer clients' questions.
	run(ctx context.Context, taken func()) (dispatcher.Outcome, error)
}

// Master is an ApplicationMaster without its process: it decides, and Outside does. Make it with New and
// run it once with Run. All its work runs in package sched, so that it also runs in the simulation.
//
// At first YARN learns that the attempt runs. Then the attempt becomes the leader (lead), takes over what the last
// leader has left (takeOver), and serves.
type Master struct {
	outside  Outside
	logger   logrus.FieldLogger
	ends     dispatcher.Mode
	shares   budget.Shares
	spec     resourcemanager.WorkerResourceSpec // of workers with default slots
	tokens   *tokenmanager.Manager
	launcher *workerLauncher
	progress progress
	largest  largest
	workers  *resourcemanager.ResourceManager
	mux      *rolerpc.Mux

	nodesKnown func(context.Context, []records.NodeReport) // receives the nodes of the cluster; nil: nothing does
	begun      begun
	registered chan struct{}       // closed when YARN knows the attempt
	queue      string              // of the application, by YARN; "": not known. Set before registered is closed
	last       ha.Leadership       // the last attempt that has led before; zero: not known. Set before led
	led        atomic.Pointer[led] // nil before the attempt leads
	leads      func(*led)          // sees what the attempt serves, before that; only tests set it
}

// Mux passes the streams of workers to the roles. Before the Master leads, it refuses all.
func (m *Master) Mux() *rolerpc.Mux { return m.mux }

// ErrNotStarted says that a Master has ended before it led. Nothing is changed, and the next attempt may start.
var ErrNotStarted = errors.New("the ApplicationMaster could not take over")

// Run leads and serves until the cluster has to end, and ends it. After an error the process must end without
// changing anything outside itself. Errors: ErrNotStarted, ha.ErrSuperseded, and those of roles that cannot go on.
func (m *Master) Run(ctx context.Context) (dispatcher.Outcome, error) {
	group, running := sched.WithErrors(ctx)
	group.Go(func() error { return m.tokens.Run(running) })
	group.Go(func() error { return m.workers.Run(running) })
	var outcome dispatcher.Outcome
	group.Go(func() error {
		l, err := m.begin(running, &outcome)
		switch {
		case err != nil || l == nil:
			return err
		default:
			if m.leads != nil {
				m.leads(l)
			}
			return m.serve(running, group, l, &outcome)
		}
	})
	err := group.Wait()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, errEnded) {
		err = cause
	}
	if errors.Is(err, errEnded) {
		return outcome, nil
	}
	return outcome, err
}

// begin leads and takes over. Clients learn meanwhile that they have to wait. If the application has ended before, it
// ends that end, and returns errEnded.
func (m *Master) begin(ctx context.Context, outcome *dispatcher.Outcome) (*led, error) {
	closeLobby := m.openLobby(ctx)
	defer closeLobby()
	return m.leadAndTakeOver(ctx, closeLobby, outcome)
}

// openLobby tells clients to wait, until the returned function is called, which may be called again.
func (m *Master) openLobby(ctx context.Context) (closeLobby func()) {
	if m.outside.Lobby == nil {
		return func() {}
	}
	waiting, stop := context.WithCancel(ctx)
	var lobby sched.Group
	lobby.Go(ctx, func() {
		if err := m.outside.Lobby.Serve(waiting); err != nil {
			m.logger.WithError(err).Warn("clients get no answer until the ApplicationMaster leads")
		}
	})
	return sync.OnceFunc(func() {
		stop()
		lobby.Wait(ctx)
	})
}

func (m *Master) leadAndTakeOver(ctx context.Context, closeLobby func(), outcome *dispatcher.Outcome) (*led, error) {
	term, err := m.lead(ctx)
	switch {
	case errors.Is(err, ha.ErrSuperseded), ctx.Err() != nil:
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrNotStarted, err)
	case term.Outcome != nil:
		m.logger.WithField("status", term.Outcome.Status).Info("an earlier attempt has ended the application, and YARN learns it now")
		*outcome = dispatcher.Outcome(*term.Outcome)
		if err := m.leave(ctx, *outcome, term.Store, func(ctx context.Context) { m.discardLeft(ctx, term.Left) }); err != nil {
			return nil, err
		}
		return nil, errEnded
	}
	l, err := m.takeOver(ctx, term.Store, closeLobby)
	if err != nil && !errors.Is(err, ha.ErrSuperseded) && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	return l, err
}

// serve serves workers and clients until the cluster has to end, and ends it.
func (m *Master) serve(ctx context.Context, group *sched.ErrGroup, l *led, outcome *dispatcher.Outcome) error {
	serving, stopServing := context.WithCancel(ctx)
	defer stopServing()
	served := make(chan struct{})
	taken := make(chan struct{}) // closed when the Dispatcher has the job; before that the front would answer that there is no job
	group.Go(func() error { return l.component.Dispatcher.Run(ctx) })
	group.Go(func() error { return l.roles.Serve(ctx) })
	group.Go(func() error {
		if sched.First(ctx, taken) == 0 {
			m.progress.watch(ctx, m.outside.Config.Duration(config.YarnHeartbeatInterval), l.component.Dispatcher.Unfinished)
		}
		return nil
	})
	group.Go(func() error {
		if l.archive != nil && sched.First(ctx, taken) == 0 {
			l.archive.Watch(ctx, l.component.Dispatcher)
		}
		return nil
	})
	group.Go(func() error {
		defer close(served)
		if sched.First(serving, taken) == 0 {
			m.begun.reached(ctx, func(b *begun) *time.Time { return &b.serves })
			return l.front.Serve(serving)
		}
		return nil // the group returns the cause
	})
	defer l.roles.Close()
	err := m.workers.Lead(ctx)
	if err == nil {
		*outcome, err = l.mode.run(ctx, sync.OnceFunc(func() { close(taken) }))
	}
	if err == nil {
		stopServing()
		sched.Until(ctx, func() bool { return sched.Closed(served) })
		<-served // the front has sent its last answer
		err = m.end(ctx, l, *outcome)
	}
	switch {
	case errors.Is(err, actor.ErrStopped):
		return nil // the role that has stopped returns the reason
	case err != nil:
		return err
	}
	return errEnded
}

// errEnded stops the parts of an application that has ended normally.
var errEnded = errors.New("application has ended")

// end stores how the cluster ends, so that nothing runs again, and ends it.
func (m *Master) end(ctx context.Context, l *led, outcome dispatcher.Outcome) error {
	m.awaitArchives(ctx, l)
	if err := l.store.End(ctx, ha.Outcome(outcome)); err != nil {
		if errors.Is(err, ha.ErrSuperseded) || ctx.Err() != nil {
			return err
		}
		// YARN's record of the end counts as well.
		m.logger.WithError(err).Warn("cannot store how the application ends; if this process dies before YARN has recorded the end, jobs may run again")
	}
	return m.leave(ctx, outcome, l.store, l.component.DiscardOutputs)
}

// leave ends the workers, then the registration with YARN. When YARN has recorded the end, no other attempt follows, and
// leave removes the unfinished output of jobs, what is stored of the application, and the staged files.
func (m *Master) leave(ctx context.Context, outcome dispatcher.Outcome, store ha.Store, discardOutputs func(context.Context)) error {
	// This waits as long as YARN does not answer: YARN's record of the outcome is all that remains of the
	// job.
	if err := m.workers.Shutdown(ctx, outcome.Status, outcome.Diagnostics); err != nil {
		return err
	}
	discardOutputs(ctx)
	// If HDFS does not answer, the process must end nevertheless. YARN gives it at least 10 min now
	// (yarn.am.liveness-monitor.expiry-interval-ms, RMAppAttemptImpl's FINISHING). Files that stay are
	// harmless, and bobbin gc removes them. Each removal has its own time: a process that was stopped during the first one
	// has time for the second.
	l := m.outside.Launch
	if m.removed(ctx, store.Remove) || l.HighAvailability == l.StagingDir { // otherwise the staged files name what is left
		m.removed(ctx, func(ctx context.Context) error { return m.outside.Files.RemoveAll(ctx, l.StagingDir) })
	}
	return nil
}

// removed removes files of the application, and tells whether it could.
func (m *Master) removed(ctx context.Context, remove func(context.Context) error) bool {
	ctx, cancel := sched.WithTimeout(ctx, m.outside.Config.Duration(config.ServicesShutdownTimeout))
	defer cancel()
	err := remove(ctx)
	if err != nil {
		m.logger.WithError(err).Warn("cannot remove the staged files; bobbin gc removes them")
	}
	return err == nil
}

// discardLeft removes the unfinished output of an application that an earlier attempt has ended. Jobs that had not ended are
// among those left; the job of a cluster for one job is staged.
func (m *Master) discardLeft(ctx context.Context, left ha.JobReader) {
	o := m.outside
	outputs := newOutputs(m.describeCluster(), m.logger)
	reading, cancel := sched.WithTimeout(ctx, o.Config.Duration(config.ServicesShutdownTimeout))
	defer cancel()
	jobs, err := dispatcher.ReadJobs(reading, left)
	outputs.recover(jobs)
	if o.Launch.Mode == launch.PerJob {
		s, unread := readStaged(reading, o.Files, o.Launch, m.shares)
		if err = errors.Join(err, unread); s.Job != nil {
			outputs.begin(s.Job.ID, &s.graph)
		}
	}
	if err != nil {
		m.logger.WithError(err).Warn("cannot read which jobs the application had, and their unfinished output stays")
	}
	outputs.discardAll(ctx)
}
