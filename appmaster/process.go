package appmaster

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/uber"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/yarnworkers"
	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/appmaster/userdriver"
	"github.com/bobbin-yarn/bobbin/internal/clienttoam"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/inquiry"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/metrics/hadoop"
	"github.com/bobbin-yarn/bobbin/internal/metrics/status"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/internal/version"
)

// process is a Master with the connections and ports of its process, in the order in which build makes
// them.
type process struct {
	*Master
	env    environment
	logger logrus.FieldLogger
	files  *dfs.FS
	ports  ports
	keys   *keys
	past   *history // nil: YARN does not answer this process
	door   *doorName

	registry *metrics.Registry // of what this process counts
	calls    *hadoop.Counts
	status   *status.Reader

	self *self
	yarn io.Closer // the connections to YARN; nil where workers come from elsewhere
}

// getWorkers makes the provider of workers for a process whose ports are open. It is connectYARN, except in
// tests. users gets the key that verifies clients' tokens; it may be nil.
type getWorkers func(p *process, s Supply, users *clienttoam.Verifier) (resourcemanager.WorkerProvider, error)

// build makes an ApplicationMaster with everything that it needs from outside. Of all that only the
// listeners are active when build returns. After an error everything is closed.
func build(ctx context.Context, start time.Time, env environment, logger logrus.FieldLogger, workers getWorkers) (_ *process, err error) {
	p := &process{env: env, logger: logger, keys: newKeys(env), registry: metrics.NewRegistry(func() time.Time { return sched.Now(ctx) })}
	p.calls = hadoop.New(p.registry, env.scope())
	p.self = newSelf(inquiry.New("jobmanager", env.logDir, filepath.Join(env.workDir, launch.ProfileDir)))
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if p.files, err = dfs.Carried(env.handed(p.calls, logger)); err != nil {
		return nil, err
	}
	if p.ports, err = openPorts(ctx, env); err != nil {
		return nil, err
	}
	tokens, err := tokensOf(env, p.files)
	if err != nil {
		return nil, err
	}
	endpoint, err := doors(ctx, env, logger)
	if err != nil {
		return nil, err
	}
	endpoint.Token, endpoint.Options = p.keys.token, env.config
	if endpoint.Memory, err = env.memory(); err != nil {
		return nil, err
	}
	p.status = status.New(endpoint.Memory.Process)
	p.door = newDoorName(env.host, env.site, net.DefaultResolver, logger)
	endpoint.ProxyBase, endpoint.Application, endpoint.Host = env.proxyBase, env.container.Attempt.Application.String(), p.door.find
	endpoint.Site, endpoint.Container = env.site, env.inYARN()
	endpoint.Version, endpoint.Revision = version.Text(), version.Revision()
	if p.past, err = newHistory(env, p.calls.Observe, logger); err != nil {
		return nil, err
	}
	outside := Outside{
		Launch: env.launch, Attempt: env.container.Attempt, Config: env.config, Files: p.files, Tokens: tokens,
		Election: election(env, p.files, logger), Keys: p.keys,
		Access: func() launch.Access { return p.keys.access(p.ports.rest.Addr(), start, env) },
		Workers: Workers{
			Provider: func(s Supply) (resourcemanager.WorkerProvider, error) { return workers(p, s, endpoint.ClientToAM) },
			Address:  p.ports.roles.Addr().String(), Identify: p.keys.identify,
			Viewer:    func() string { return p.keys.viewer.Digest() },
			Container: env.container, Host: env.host,
			Beside: uber.Processes{Environment: env.variables, WorkDir: env.workDir, LogDir: env.logDir, Logger: logger},
		},
		Roles: func(mux *rolerpc.Mux) RoleServer { return p.serveRoles(mux) }, //nolint:contextcheck // the server lives as long as the process
		About: About{
			Submitted: env.submitted, Started: start, ResourceManager: env.resourceManager(), LogURL: env.logURL,
			Container: env.inYARN(), TrackingURL: trackingURL(env.hadoop, env.proxyBase),
		},
		Self:  p.self.inquire,
		Lobby: lobbyPort{p, lent{p.ports.rest}},
		Front: func(d Desk) Front {
			endpoint.Metrics, endpoint.Viewer = d.Metrics, p.keys.viewer
			endpoint.Metrics.Master = metrics.Join(p.processMetrics, d.Metrics.Master)
			endpoint.Processes = d.Processes
			endpoint.TLS, endpoint.Session, endpoint.Room, endpoint.AnswersMemory = env.site.Door(p.keys.front.RESTServerTLS()), d.Session, d.Room, d.AnswersMemory
			return restPort{rest.New(endpoint, d.Gateway, logger), p.ports.rest}
		},
		Programs:   &Programs{Environment: env.variables, WorkDir: env.workDir, Machine: userdriver.Local(env.logDir)},
		FreeMemory: debug.FreeOSMemory,
	}
	if p.past != nil {
		outside.History, outside.About.YARN = p.past.attempts, p.past.report
	}
	if p.Master, err = New(outside, logger); err != nil {
		return nil, err
	}
	return p, nil
}

// connectYARN makes the provider that gets workers from YARN.
func connectYARN(p *process, s Supply, users *clienttoam.Verifier) (resourcemanager.WorkerProvider, error) {
	clients, err := yarnworkers.Connect(p.env.hadoop, p.env.container.Attempt, p.env.credentials, p.calls.Observe, p.logger)
	if err != nil {
		return nil, err
	}
	p.yarn = clients
	place, err := launch.PlaceOf(p.env.config)
	if err != nil {
		return nil, err
	}
	c := yarnworkers.Config{
		ResourceManager: clients.ResourceManager,
		NodeManagers:    clients.NodeManagers,
		Registration:    yarnworkers.RegistrationAt(p.env.host, p.ports.rest.Addr().(*net.TCPAddr).Port),
		Attempt:         p.env.container.Attempt,
		Registered:      s.Registered,
		Confirm:         s.Confirm,
		KeepPrevious:    p.env.launch.HighAvailability != "",
		History:         config.HistoryURL(p.env.config),
		Place:           place,
		Launch:          s.Launch,
		Progress:        s.Progress,
		Largest:         s.Largest,
		Heartbeat:       p.env.config.Duration(config.YarnHeartbeatInterval),
		RequestInterval: p.env.config.Duration(config.YarnContainerRequestInterval),
		Metrics:         p.registry,
		MetricsScope:    p.env.scope(),
	}
	if users != nil {
		c.ClientToAMKey = users.SetKey
	}
	provider, err := yarnworkers.New(c, p.logger)
	if err != nil {
		return nil, err
	}
	s.Nodes(provider.KnowNodes)
	return provider, nil
}

// serveRoles makes the server for workers' streams.
func (p *process) serveRoles(mux *rolerpc.Mux) RoleServer {
	return rolePort{rolerpc.NewServer(p.env.connections(p.keys.roles, p.logger), mux), p.ports.roles}
}

// processMetrics is the source of what this process counts and uses.
func (p *process) processMetrics(ctx context.Context) ([]metrics.Sample, error) {
	counted, err := p.registry.Samples(ctx)
	return append(status.Samples(p.env.scope(), p.status.Read(sched.Now(ctx))), counted...), err
}

// connections describes the end of this process in the connections of workers.
func (env environment) connections(identity *pki.Credentials, logger logrus.FieldLogger) rolerpc.Config {
	return rolerpc.Config{
		TLS:         identity.ServerTLS(pki.OnlyRole(pki.RoleTaskExecutor)),
		Unreachable: config.Unreachable(env.config),
		Logger:      logger,
	}
}

// rolePort is a RoleServer at a port.
type rolePort struct {
	*rolerpc.Server
	port net.Listener
}

func (r rolePort) Serve(context.Context) error { return r.Server.Serve(r.port) }

// restPort is REST at a port.
type restPort struct {
	*rest.Server
	port net.Listener
}

func (r restPort) Serve(ctx context.Context) error { return r.Server.Serve(ctx, r.port) }

// lobbyPort is REST at its port before the attempt leads.
type lobbyPort struct {
	*process
	port lent
}

func (l lobbyPort) Serve(ctx context.Context) error {
	certificate, err := l.keys.lobby()
	if err != nil {
		return err
	}
	return errors.Join(rest.NewLobby(l.env.site.Door(certificate), l.logger).Serve(ctx, l.port), l.port.giveBack())
}

// run runs the Master, and closes everything.
func (p *process) run(ctx context.Context) (dispatcher.Outcome, error) {
	serving, stop := context.WithCancelCause(ctx)
	var running sched.Group
	running.Go(ctx, func() { p.self.serve(serving) }) // ends with serving
	running.Go(ctx, func() { p.door.find(serving) })  // likewise; users wait for no search later
	outcome, err := p.Run(ctx)
	stop(err)
	running.Wait(ctx)
	if closing := p.close(); closing != nil {
		p.logger.WithError(closing).Warn("services are not closed cleanly")
	}
	return outcome, err
}

// close closes what build has opened, in reverse order.
func (p *process) close() error {
	var faults []error
	if p.past != nil {
		faults = append(faults, p.past.Close())
	}
	if p.yarn != nil {
		faults = append(faults, p.yarn.Close())
	}
	for _, l := range []*net.TCPListener{p.ports.rest, p.ports.roles} {
		if l != nil {
			if err := l.Close(); !errors.Is(err, net.ErrClosed) {
				faults = append(faults, err)
			}
		}
	}
	if p.files != nil {
		faults = append(faults, p.files.Close())
	}
	return errors.Join(faults...)
}
