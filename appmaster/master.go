package appmaster

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/appmaster/tokenmanager"
	"github.com/bobbin-yarn/bobbin/appmaster/userdriver"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
)

// mode is the behaviour of one kind of cluster.
type mode interface {
	// run does the work of the cluster, and waits until the cluster has to end. It calls taken when the
	// Dispatcher can answer clients' questions.
	run(ctx context.Context, taken func()) (dispatcher.Outcome, error)
}

// master is an ApplicationMaster. Its fields are in the order in which build makes them. Run it once.
type master struct {
	env       environment
	logger    logrus.FieldLogger
	files     *dfs.FS
	ports     ports
	tokens    *tokenmanager.Manager
	progress  progress
	yarn      io.Closer // the connections to YARN; nil where workers come from elsewhere
	component *Component
	mode      mode
	drivers   *userdriver.Drivers // of an application or a session; otherwise nil
	roles     *rolerpc.Server
	rest      *rest.Server
}

// run serves until the cluster has to end, and ends it. After an error the process must end without
// changing anything outside itself.
func (m *master) run(ctx context.Context) (dispatcher.Outcome, error) {
	group, running := errgroup.WithContext(ctx)
	serving, stopServing := context.WithCancel(running)
	defer stopServing()
	served := make(chan struct{})
	taken := make(chan struct{}) // closed when the Dispatcher has the job; before that REST would answer that there is no job
	group.Go(func() error { return m.tokens.Run(running) })
	group.Go(func() error {
		// Workers that start with expired tokens are useless. Until the tokens are ready, the process does
		// not register with YARN, and YARN gives the attempt up if this takes too long.
		if err := m.tokens.Ready(running); err != nil {
			return err
		}
		return m.component.Run(running)
	})
	group.Go(func() error { return m.roles.Serve(m.ports.roles) })
	group.Go(func() error {
		select {
		case <-taken:
			m.progress.watch(running, m.env.config.Duration(config.YarnHeartbeatInterval), m.component.Dispatcher.Jobs)
		case <-running.Done():
		}
		return nil
	})
	group.Go(func() error {
		defer close(served)
		select {
		case <-taken:
			return m.rest.Serve(serving, m.ports.rest)
		case <-serving.Done():
			return nil // the group returns the cause
		}
	})
	var outcome dispatcher.Outcome
	group.Go(func() error {
		defer m.roles.Close()
		var err error
		if outcome, err = m.mode.run(running, sync.OnceFunc(func() { close(taken) })); err == nil {
			stopServing()
			<-served // REST has sent its last answer
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
	if closing := m.close(); closing != nil {
		m.logger.WithError(closing).Warn("services are not closed cleanly")
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
func (m *master) end(ctx context.Context, outcome dispatcher.Outcome) error {
	// This waits as long as YARN does not answer: YARN's record of the outcome is all that remains of the
	// job.
	if err := m.component.ResourceManager.Shutdown(ctx, outcome.Status, outcome.Diagnostics); err != nil {
		return err
	}
	m.component.DiscardOutputs(ctx)
	// If HDFS does not answer, the process must end nevertheless. YARN gives it at least 10 min now
	// (yarn.am.liveness-monitor.expiry-interval-ms, RMAppAttemptImpl's FINISHING). Files that stay are
	// harmless, and bobbin gc removes them.
	ctx, cancel := context.WithTimeout(ctx, m.env.config.Duration(config.ServicesShutdownTimeout))
	defer cancel()
	if err := m.files.RemoveAll(ctx, m.env.launch.StagingDir); err != nil {
		m.logger.WithError(err).Warn("cannot remove the staged files; bobbin gc removes them")
	}
	return nil
}

// close closes what build has opened, in reverse order.
func (m *master) close() error {
	var faults []error
	if m.yarn != nil {
		faults = append(faults, m.yarn.Close())
	}
	for _, l := range []net.Listener{m.ports.rest, m.ports.roles} {
		if l != nil {
			if err := l.Close(); !errors.Is(err, net.ErrClosed) {
				faults = append(faults, err)
			}
		}
	}
	if m.files != nil {
		faults = append(faults, m.files.Close())
	}
	return errors.Join(faults...)
}
