package appmaster

import (
	"context"
	"errors"
	"fmt"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/uber"
	"github.com/bobbin-yarn/bobbin/appmaster/tokenmanager"
	"github.com/bobbin-yarn/bobbin/appmaster/userdriver"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// New makes the parts of an ApplicationMaster, in order. It reads the staged file and announces the
// attempt's Access to the owner. None of the parts is active when New returns.
func New(ctx context.Context, o Outside, logger logrus.FieldLogger) (*Master, error) {
	m := &Master{outside: o, logger: logger}
	ends, err := endsOf(o.Launch)
	if err != nil {
		return nil, err
	}
	shares, err := budget.Of(o.Launch.Mode, o.Config)
	if err != nil {
		return nil, err
	}
	worker, err := memory.WorkerOf(o.Config)
	if err != nil {
		return nil, fmt.Errorf("divide a worker's memory: %w", err)
	}
	spec, err := workerSpec(o.Config, worker)
	if err != nil {
		return nil, err
	}
	staged, err := readStaged(ctx, o.Files, o.Launch, shares)
	if err != nil {
		return nil, err
	}
	if err := announce(ctx, o.Files, o.Launch.StagingDir, o.Access); err != nil {
		return nil, err
	}
	if m.tokens, err = newTokenManager(o, m.distribute, logger); err != nil {
		return nil, err
	}
	launcher, err := newWorkerLauncher(o, spec, staged.Shipped, m.tokens.Current)
	if err != nil {
		return nil, err
	}
	workers, err := supply(o, staged, launcher, m, logger)
	if err != nil {
		return nil, err
	}
	kept, err := openStores(ctx, o)
	if err != nil {
		return nil, err
	}
	settling := newSettling()
	cluster := describeCluster(o, spec, ends, shares.Jobs, kept, settling)
	cluster.Largest = m.largest.get
	if m.component, err = NewComponent(cluster, workers, logger); err != nil {
		return nil, err
	}
	desk := Desk{
		Gateway: gateway{m.component.Dispatcher, m.component.ResourceManager},
		Room:    budget.NewRoom(shares.Requests, o.Config), AnswersMemory: shares.Answers,
	}
	switch o.Launch.Mode {
	case launch.PerJob: // the program has planned on the client's machine
		m.mode = &perJob{m.component, o, staged}
	case launch.Application:
		if o.Programs == nil {
			return nil, errNoPrograms
		}
		limits := userdriver.Limits{Job: int(shares.JobText)} // only this program submits jobs
		a := newApplication(m.component, o, staged, m.tokens, describePrograms(o, shares, limits, m.tokens), logger)
		m.mode, m.drivers = a, a.drivers
	case launch.Session:
		s := newSession(m.component, kept, settling, o.FreeMemory, logger)
		if o.Programs != nil {
			limits := userdriver.Limits{Job: desk.Room.Largest(), Hold: desk.Room.Hold} // jobs of programs share the room with requests
			s.runPrograms(describePrograms(o, shares, limits, m.tokens), o.Programs.WorkDir, shares.Programs, logger)
		}
		m.mode, m.drivers, desk.Session = s, s.drivers, s
	}
	m.roles = o.roleServer(m.component.Mux)
	m.front = o.front(desk)
	return m, nil
}

// supply makes the provider of workers.
func supply(o Outside, s staged, launcher *workerLauncher, m *Master, logger logrus.FieldLogger) (resourcemanager.WorkerProvider, error) {
	workers, err := o.Workers.Provider(Supply{Nodes: s.nodeReports(), Launch: launcher.launch, Progress: m.progress.share, Largest: m.largest.set})
	if err != nil || !o.Launch.Uber {
		return workers, err
	}
	return uber.New(uber.Config{
		Container: o.Workers.Container.String(), Host: o.Workers.Host, Spec: launcher.spec,
		Machine: o.Workers.Beside, Launch: launcher.beside, Others: workers,
	}, logger)
}

// errNoPrograms says that users' programs cannot run beside this process.
var errNoPrograms = errors.New("there is no place for users' programs beside the ApplicationMaster")

// distribute passes new tokens to workers, which start with them, and to users' programs. The manager of
// tokens calls it while it runs: New has set the fields before.
func (m *Master) distribute(ctx context.Context, tokens msg.Secret) error {
	if m.drivers != nil {
		m.drivers.UpdateTokens(tokens)
	}
	return m.component.ResourceManager.UpdateTokens(ctx, tokens)
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

// describeCluster configures the roles. kept is a session's.
func describeCluster(o Outside, worker resourcemanager.WorkerResourceSpec, ends dispatcher.Mode, jobMemory int64, kept stores, settling settling) ComponentConfig {
	c := ComponentConfig{Config: o.Config, Worker: worker, Mode: ends, JobMemory: jobMemory, Files: o.Files, Entropy: o.Entropy}
	if kept.programStore != nil {
		c.JobEnded = func(job dispatcher.Submission) {
			kept.release(job)
			settling.jobEnded()
		}
	}
	return c
}

// describePrograms configures users' programs, which run beside this process.
func describePrograms(o Outside, shares budget.Shares, limits userdriver.Limits, tokens *tokenmanager.Manager) userdriver.Config {
	limits.Container, limits.Each, limits.Raise = shares.Process, shares.Program(), shares.By
	return userdriver.Config{
		Application: o.Attempt.Application.String(),
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
