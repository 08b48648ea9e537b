package appmaster

import (
	"context"
	"errors"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/tokenmanager"
	"github.com/bobbin-yarn/bobbin/appmaster/userdriver"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// mode is the behaviour of one kind of cluster.
type mode interface {
	// run does the work of the cluster, and waits until the cluster has to end. It calls taken when the
	// Dispatcher can answer clients' questions.
	run(ctx context.Context, taken func()) (dispatcher.Outcome, error)
}

// Master is an ApplicationMaster without its process: it decides, and Outside does. Make it with New and
// run it once with Run. All its work runs in package sched, so that it also runs in the simulation.
type Master struct {
	outside   Outside
	logger    logrus.FieldLogger
	tokens    *tokenmanager.Manager
	progress  progress
	largest   largest
	component *Component
	mode      mode
	drivers   *userdriver.Drivers // of an application or a session; otherwise nil
	roles     RoleServer
	front     Front
}

// Component returns the roles.
func (m *Master) Component() *Component { return m.component }

// Run serves until the cluster has to end, and ends it. After an error the process must end without
// changing anything outside itself.
func (m *Master) Run(ctx context.Context) (dispatcher.Outcome, error) {
	group, running := sched.WithErrors(ctx)
	serving, stopServing := context.WithCancel(running)
	defer stopServing()
	served := make(chan struct{})
	taken := make(chan struct{}) // closed when the Dispatcher has the job; before that the front would answer that there is no job
	group.Go(func() error { return m.tokens.Run(running) })
	group.Go(func() error {
		// Workers that start with expired tokens are useless. Until the tokens are ready, the process does
		// not register with YARN, and YARN gives the attempt up if this takes too long.
		if err := m.tokens.Ready(running); err != nil {
			return err
		}
		return m.component.Run(running)
	})
	group.Go(func() error { return m.roles.Serve(running) })
	group.Go(func() error {
		if sched.First(running, taken) == 0 {
			m.progress.watch(running, m.outside.Config.Duration(config.YarnHeartbeatInterval), m.component.Dispatcher.Unfinished)
		}
		return nil
	})
	group.Go(func() error {
		defer close(served)
		if sched.First(serving, taken) == 0 {
			return m.front.Serve(serving)
		}
		return nil // the group returns the cause
	})
	var outcome dispatcher.Outcome
	group.Go(func() error {
		defer m.roles.Close()
		var err error
		if outcome, err = m.mode.run(running, sync.OnceFunc(func() { close(taken) })); err == nil {
			stopServing()
			sched.Until(running, func() bool { return sched.Closed(served) })
			<-served // the front has sent its last answer
			err = m.end(running, outcome)
		}
		switch {
		case errors.Is(err, actor.ErrStopped):
			return nil // the component returns the reason
		case err != nil:
			return err
		}
		return errEnded
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

// errEnded stops the parts of an application that has ended normally.
var errEnded = errors.New("application has ended")

// end ends the cluster: first the workers, then the registration with YARN. When YARN has recorded the end,
// no other attempt follows, and end removes the unfinished output of jobs and the staged files.
func (m *Master) end(ctx context.Context, outcome dispatcher.Outcome) error {
	// This waits as long as YARN does not answer: YARN's record of the outcome is all that remains of the
	// job.
	if err := m.component.ResourceManager.Shutdown(ctx, outcome.Status, outcome.Diagnostics); err != nil {
		return err
	}
	m.component.DiscardOutputs(ctx)
	// If HDFS does not answer, the process must end nevertheless. YARN gives it at least 10 min now
	// (yarn.am.liveness-monitor.expiry-interval-ms, RMAppAttemptImpl's FINISHING). Files that stay are
	// harmless, and bobbin gc removes them.
	ctx, cancel := sched.WithTimeout(ctx, m.outside.Config.Duration(config.ServicesShutdownTimeout))
	defer cancel()
	if err := m.outside.Files.RemoveAll(ctx, m.outside.Launch.StagingDir); err != nil {
		m.logger.WithError(err).Warn("cannot remove the staged files; bobbin gc removes them")
	}
	return nil
}
