package appmaster

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/uber"
	"github.com/bobbin-yarn/bobbin/appmaster/tokenmanager"
	"github.com/bobbin-yarn/bobbin/appmaster/userdriver"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// New makes the parts of an ApplicationMaster that it has before it leads. It does no I/O, and none of the parts is
// active when New returns.
func New(o Outside, logger logrus.FieldLogger) (*Master, error) {
	m := &Master{outside: o, logger: logger, mux: new(rolerpc.Mux), registered: make(chan struct{})}
	var err error
	if m.ends, err = endsOf(o.Launch); err != nil {
		return nil, err
	}
	if o.Launch.Mode == launch.Application && o.Programs == nil {
		return nil, errNoPrograms
	}
	if m.shares, err = budget.Of(o.Launch.Mode, o.Config); err != nil {
		return nil, err
	}
	worker, err := memory.WorkerOf(o.Config)
	if err != nil {
		return nil, fmt.Errorf("divide a worker's memory: %w", err)
	}
	if m.spec, err = workerSpec(o.Config, worker); err != nil {
		return nil, err
	}
	if m.tokens, err = newTokenManager(o, m.distribute, logger); err != nil {
		return nil, err
	}
	if m.launcher, err = newWorkerLauncher(o, m.spec, m.tokens.Current); err != nil {
		return nil, err
	}
	workers, err := m.supply()
	if err != nil {
		return nil, err
	}
	m.workers, err = newResourceManager(m.describeCluster(), workers, logger)
	return m, err
}

// supply makes the provider of workers.
func (m *Master) supply() (resourcemanager.WorkerProvider, error) {
	o := m.outside
	workers, err := o.Workers.Provider(Supply{
		Registered: m.onceRegistered(), Confirm: o.Election.Confirm,
		Nodes:  func(known func(context.Context, []records.NodeReport)) { m.nodesKnown = known },
		Launch: m.launcher.launch, Progress: m.progress.share, Largest: m.largest.set,
	})
	if err != nil || !o.Launch.Uber {
		return workers, err
	}
	return uber.New(uber.Config{
		Container: o.Workers.Container.String(), Host: o.Workers.Host, Spec: m.spec,
		Machine: o.Workers.Beside, Launch: m.launcher.beside, Others: workers,
	}, m.logger)
}

// onceRegistered returns what a provider calls when YARN knows the attempt.
func (m *Master) onceRegistered() func(queue string) {
	var once sync.Once
	return func(queue string) {
		once.Do(func() {
			m.queue = queue
			close(m.registered)
		})
	}
}

// errNoPrograms says that users' programs cannot run beside this process.
var errNoPrograms = errors.New("there is no place for users' programs beside the ApplicationMaster")

// distribute passes new tokens to workers, which start with them, and to users' programs.
func (m *Master) distribute(ctx context.Context, tokens msg.Secret) error {
	if led := m.led.Load(); led != nil && led.drivers != nil {
		led.drivers.UpdateTokens(tokens)
	}
	return m.workers.UpdateTokens(ctx, tokens)
}

// endsOf returns when the Dispatcher ends a cluster.
func endsOf(l launch.AppMaster) (dispatcher.Mode, error) {
	switch {
	case l.Mode == launch.PerJob && l.Attached:
		return dispatcher.Attached, nil
	case l.Mode == launch.PerJob:
		return dispatcher.Detached, nil
	case l.Mode == launch.Session:
		return dispatcher.Session, nil
	case l.Mode == launch.Application:
		return dispatcher.Application, nil
	}
	return 0, fmt.Errorf("%w: mode %q is unknown; client and ApplicationMaster are of different releases", launch.ErrMalformed, l.Mode)
}

// describeCluster configures the roles.
func (m *Master) describeCluster() ComponentConfig {
	o := m.outside
	return ComponentConfig{
		Epoch: o.Epoch(), Standby: true, Config: o.Config, Worker: m.spec, Mode: m.ends, JobMemory: m.shares.Jobs,
		Files: o.Files, Largest: m.largest.get, Entropy: o.Entropy, Confirm: o.Election.Confirm,
	}
}

// describePrograms configures users' programs, which run beside this process.
func describePrograms(o Outside, shares budget.Shares, limits userdriver.Limits, tokens *tokenmanager.Manager) userdriver.Config {
	limits.Container, limits.Each, limits.Raise = shares.Process, shares.Program(), shares.By
	application := o.Attempt.Application.String()
	var jobID func(int) ids.JobID
	if o.Launch.Mode == launch.Application { // the next attempt runs the program again
		jobID = func(n int) ids.JobID { return ids.JobIDOf(application, n) }
	}
	return userdriver.Config{
		Application: application, JobID: jobID,
		Options:     o.forOthers(),
		Environment: o.Programs.Environment,
		Machine:     o.Programs.Machine,
		Limits:      limits,
		Entropy:     o.Entropy,
		Reach: func() *msg.Reach {
			current := creds.Credentials{Tokens: tokens.Current().Tokens}
			return &msg.Reach{HadoopConf: o.Launch.HadoopConf, User: o.Launch.User, Tokens: current.Marshal()}
		},
	}
}
