package appmaster

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/internal/programs"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/yarnworkers"
	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/appmaster/tokenmanager"
	"github.com/bobbin-yarn/bobbin/appmaster/userdriver"
	"github.com/bobbin-yarn/bobbin/internal/clienttoam"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/liveness"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/program"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
	"github.com/bobbin-yarn/bobbin/internal/staging"
	"github.com/bobbin-yarn/bobbin/internal/version"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// getWorkers makes the provider of workers for a master whose ports are open. It is connectYARN, except in
// tests. start makes the launch context of a worker. users gets the key that verifies clients' tokens; it
// may be nil.
type getWorkers func(m *master, s staged, start yarnworkers.Launch, users *clienttoam.Verifier) (resourcemanager.WorkerProvider, error)

// build makes the parts of an ApplicationMaster, in order. Of these parts only the listeners are active
// when build returns. After an error everything is closed.
func build(ctx context.Context, start time.Time, env environment, logger logrus.FieldLogger, workers getWorkers) (_ *master, err error) {
	m := &master{env: env, logger: logger}
	defer func() {
		if err != nil {
			err = errors.Join(err, m.close())
		}
	}()
	if m.files, err = dfs.Carried(env.handed(logger)); err != nil {
		return nil, err
	}
	shares := budget.Of(env.launch.Mode, env.config)
	staged, err := readStaged(ctx, m.files, env.launch, shares.Staged)
	if err != nil {
		return nil, err
	}
	if m.ports, err = openPorts(ctx, env); err != nil {
		return nil, err
	}
	if err = announce(ctx, m.files, env.launch.StagingDir, m.ports.access(start, env)); err != nil {
		return nil, err
	}
	// The manager passes tokens to workers, which start with them, and to users' programs. m.component and
	// m.drivers are set before the manager runs.
	m.tokens, err = newTokenManager(env, m.files, func(ctx context.Context, tokens msg.Secret) error {
		if m.drivers != nil {
			m.drivers.UpdateTokens(tokens)
		}
		return m.component.ResourceManager.UpdateTokens(ctx, tokens)
	}, logger)
	if err != nil {
		return nil, err
	}
	endpoint, err := doors(ctx, env, logger)
	if err != nil {
		return nil, err
	}
	launcher, err := newWorkerLauncher(env, staged.Shipped, m.ports.authority, m.ports.roles.Addr().String(), m.tokens.Current)
	if err != nil {
		return nil, err
	}
	source, err := workers(m, staged, launcher.launch, endpoint.ClientToAM)
	if err != nil {
		return nil, err
	}
	store, err := openStore(ctx, env, m.files)
	if err != nil {
		return nil, err
	}
	settling := newSettling()
	if m.component, err = NewComponent(describeCluster(env, shares.Jobs, m.files, store, settling), source, logger); err != nil {
		return nil, err
	}
	endpoint.Room, endpoint.AnswersMemory = budget.NewRoom(shares.Requests, env.config), shares.Answers
	programs := describePrograms(env, shares, m.tokens)
	switch env.launch.Mode {
	case launch.PerJob: // the program has planned on the client's machine
		m.mode = &perJob{m.component, env, staged}
	case launch.Application:
		programs.Limits.Job = int(shares.JobText) // only this program submits jobs
		a := newApplication(m.component, env, staged, m.tokens, programs, logger)
		m.mode, m.drivers = a, a.drivers
	case launch.Session:
		programs.Limits.Job, programs.Limits.Hold = endpoint.Room.Largest(), endpoint.Room.Hold // jobs of programs share the room with requests
		s := newSession(m.component, store, settling, programs, env.workDir, shares.Programs, logger)
		m.mode, m.drivers, endpoint.Session = s, s.drivers, s
	}
	if m.roles, err = newRoleServer(m.component.Mux, m.ports.authority, env.config, logger); err != nil { //nolint:contextcheck // the server lives as long as the process
		return nil, err
	}
	endpoint.TLS, endpoint.Token, endpoint.Options = m.ports.front.RESTServerTLS(), m.ports.token, env.config
	endpoint.Version, endpoint.Revision = version.Text(), version.Revision()
	m.rest = rest.New(endpoint, gateway{m.component.Dispatcher, m.component.ResourceManager}, logger)
	return m, nil
}

// connectYARN makes the provider that gets workers from YARN.
func connectYARN(m *master, s staged, start yarnworkers.Launch, users *clienttoam.Verifier) (resourcemanager.WorkerProvider, error) {
	clients, err := yarnworkers.Connect(m.env.hadoop, m.env.container.Attempt, m.env.credentials, m.logger)
	if err != nil {
		return nil, err
	}
	m.yarn = clients
	place, err := launch.PlaceOf(m.env.config)
	if err != nil {
		return nil, err
	}
	c := yarnworkers.Config{
		ResourceManager: clients.ResourceManager,
		NodeManagers:    clients.NodeManagers,
		Registration:    yarnworkers.RegistrationAt(m.env.host, m.ports.rest.Addr().(*net.TCPAddr).Port),
		Nodes:           s.nodeReports(),
		Place:           place,
		Launch:          start,
		Progress:        m.progress.share,
		Heartbeat:       m.env.config.Duration(config.YarnHeartbeatInterval),
		RequestInterval: m.env.config.Duration(config.YarnContainerRequestInterval),
	}
	if users != nil {
		c.ClientToAMKey = users.SetKey
	}
	return yarnworkers.New(c, m.logger)
}

// openStore finds the programs of a session's earlier attempts. In other modes it returns nil.
func openStore(ctx context.Context, env environment, files *dfs.FS) (*programs.Store, error) {
	if env.launch.Mode != launch.Session {
		return nil, nil
	}
	cache := staging.Resume(files, env.launch.StagingDir, max(0, env.config.Int(config.YarnFileReplication)), ids.Source{})
	store := programs.New(cache, files, program.Native())
	return store, store.Recover(ctx)
}

// describeCluster configures the roles. store is a session's, or nil.
func describeCluster(env environment, memory int64, files *dfs.FS, store *programs.Store, settling settling) ComponentConfig {
	c := ComponentConfig{Config: env.config, Worker: workerSpec(env.config), Mode: env.ends, JobMemory: memory, Files: files}
	if store != nil {
		c.JobEnded = func(job dispatcher.Submission) {
			store.Release(job.Program.SHA256)
			settling.jobEnded()
		}
	}
	return c
}

// describePrograms configures users' programs, which run beside this process.
func describePrograms(env environment, shares budget.Shares, tokens *tokenmanager.Manager) userdriver.Config {
	return userdriver.Config{
		Application: env.container.Attempt.Application.String(),
		Options:     env.forOthers(),
		Environment: env.variables,
		LogDir:      env.logDir,
		Limits:      userdriver.Limits{ContainerMB: shares.ContainerMB, EachMB: shares.ProgramMB},
		Reach: func() *msg.Reach {
			current := creds.Credentials{Tokens: tokens.Current().Tokens}
			return &msg.Reach{HadoopConf: env.launch.HadoopConf, User: env.launch.User, Tokens: current.Marshal()}
		},
	}
}

// newRoleServer makes the server for workers' streams.
func newRoleServer(mux *rolerpc.Mux, authority *pki.Authority, options config.Config, logger logrus.FieldLogger) (*rolerpc.Server, error) {
	identity, err := authority.IssueApplicationMaster(time.Now())
	if err != nil {
		return nil, err
	}
	return rolerpc.NewServer(rolerpc.Config{
		TLS:         identity.ServerTLS(pki.OnlyRole(pki.RoleTaskExecutor)),
		Unreachable: liveness.After(options.Duration(config.HeartbeatInterval), options.Int(config.HeartbeatFailureThreshold)),
		Logger:      logger,
	}, mux), nil
}
