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

// mode is what a cluster of one mode does by itself.
type mode interface {
	// run does what the cluster is for, and waits until it has to end. It calls taken
	// when the Dispatcher has what clients may ask for.
	run(ctx context.Context, taken func()) (dispatcher.Outcome, error)
}

// master is an ApplicationMaster: its parts, in the order in which build makes them. Run it once.
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
	drivers   *userdriver.Drivers // of an application or a session; nil
	roles     *rolerpc.Server
	rest      *rest.Server
}

// run serves until the cluster has to end, and ends it. An error says that the process must end
// without touching anything.
func (m *master) run(ctx context.Context) (dispatcher.Outcome, error) {
	group, running := errgroup.WithContext(ctx)
	serving, stopServing := context.WithCancel(running)
	defer stopServing()
	served := make(chan struct{})
	taken := make(chan struct{}) // closed when the Dispatcher has the job: until then REST would say that there is none
	group.Go(func() error { return m.tokens.Run(running) })
	group.Go(func() error {
		// Workers that start with dead tokens are of no use. Until then YARN is told
		// nothing, and knows after how long to give this attempt up.
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
			return nil // the group has the cause
		}
	})
	var outcome dispatcher.Outcome
	group.Go(func() error {
		defer m.roles.Close()
		var err error
		if outcome, err = m.mode.run(running, sync.OnceFunc(func() { close(taken) })); err == nil {
			stopServing()
			<-served // the last answer is out
			err = m.end(running, outcome)
		}
		switch {
		case errors.Is(err, actor.ErrStopped):
			return nil // the component says why
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

// errEnded ends the parts of an application that has ended in order.
var errEnded = errors.New("application has ended")

// end ends the cluster: the workers, then the registration with YARN and, when YARN has recorded
// the end, what another attempt would need until then: what jobs without a result have begun to
// write, and the staged files.
func (m *master) end(ctx context.Context, outcome dispatcher.Outcome) error {
	// However long YARN is away: its record is all that is left of the job.
	if err := m.component.ResourceManager.Shutdown(ctx, outcome.Status, outcome.Diagnostics); err != nil {
		return err
	}
	m.component.DiscardOutputs(ctx)
	// An HDFS that is away must not keep the process, to which YARN leaves ten minutes now
	// (yarn.am.liveness-monitor.expiry-interval-ms, RMAppAttemptImpl's FINISHING). What stays is
	// harmless, and gc removes it.
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
