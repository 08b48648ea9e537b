package appmaster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/programs"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/yarndriver"
	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/appmaster/tokenmanager"
	"github.com/bobbin-yarn/bobbin/appmaster/userdriver"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/clienttoam"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
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

// services is everything that an ApplicationMaster consists of, in the order in
// which it starts.
type services struct {
	env         environment
	logger      logrus.FieldLogger
	files       *dfs.FS
	staged      staged
	tokens      *tokenmanager.Manager
	clients     *yarndriver.Clients
	component   *Component
	drivers     *userdriver.Drivers // of an application or a session; nil
	session     *session            // of a session; nil
	application *application        // of an application; nil
	progress    progress
	roles       *rolerpc.Server
	rolesAt     net.Listener
	rest        *rest.Server
	restAt      net.Listener
}

// startServices makes the services; only those that listen have begun. After an
// error nothing is left open.
func startServices(ctx context.Context, start time.Time, env environment, logger logrus.FieldLogger) (_ *services, err error) {
	s := &services{env: env, logger: logger}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.files, err = dfs.Carried(env.handed(logger)); err != nil {
		return nil, err
	}
	if s.staged, err = readStaged(ctx, s.files, env.launch); err != nil {
		return nil, err
	}
	if s.rolesAt, err = listen(ctx, env.host, env.config.Ports(config.YarnMasterPort)); err != nil {
		return nil, err
	}
	if s.restAt, err = listen(ctx, env.host, env.config.Ports(config.RESTBindPort)); err != nil {
		return nil, err
	}
	authority, err := pki.NewAuthority(env.container.Attempt.Application.String(), time.Now())
	if err != nil {
		return nil, err
	}
	front, err := authority.IssueREST([]string{env.host}, time.Now())
	if err != nil {
		return nil, err
	}
	token := pki.NewToken()
	if err = s.announce(ctx, start, front.Authority(), token); err != nil {
		return nil, err
	}
	if s.tokens, err = s.manageTokens(); err != nil {
		return nil, err
	}
	endpoint, err := doors(ctx, env, logger)
	if err != nil {
		return nil, err
	}
	driver, err := s.connect(authority, endpoint.ClientToAM)
	if err != nil {
		return nil, err
	}
	_, bodies := budgets(env.launch.Mode, env.config)
	endpoint.Room, endpoint.AnswersMemory = rest.NewRoom(bodies, env.config), answersMemory(env.launch.Mode, env.config)
	if err = s.wire(ctx, driver, authority, endpoint.Room); err != nil {
		return nil, err
	}
	endpoint.TLS, endpoint.Token, endpoint.Options = front.RESTServerTLS(), token, env.config
	endpoint.Version, endpoint.Revision = version.Text(), version.Revision()
	if s.session != nil {
		endpoint.Session = s.session
	}
	s.rest = rest.New(endpoint, gateway{s.component.Dispatcher, s.component.ResourceManager}, logger)
	return s, nil
}

// listen binds the first free port of a range on the node's address.
func listen(ctx context.Context, host string, ports config.Ports) (net.Listener, error) {
	var lc net.ListenConfig
	err := errNoPort
	for port := range ports.All() {
		var l net.Listener
		if l, err = lc.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port))); err == nil {
			return l, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return nil, fmt.Errorf("find a free port on %s: %w", host, err)
}

var errNoPort = errors.New("no ports are allowed")

// announce tells the owner how to reach REST, before YARN tells that the
// application runs.
func (s *services) announce(ctx context.Context, start time.Time, authority []byte, token pki.Token) error {
	content, err := json.Marshal(launch.Access{
		Address: s.restAt.Addr().String(), Authority: authority, Token: token.Reveal(), AMStart: start.UnixMilli(),
		Attempt: s.env.container.Attempt.Attempt, Application: s.env.container.Attempt.Application.String(),
	})
	if err != nil {
		return fmt.Errorf("announce REST: %w", err)
	}
	uri := s.env.launch.StagingDir + "/" + launch.AccessFile
	if err := s.files.RemoveAll(ctx, uri); err != nil { // an earlier attempt's
		return fmt.Errorf("announce REST: %w", err)
	}
	return s.files.WriteFile(ctx, uri, content, 0o600)
}

// connect makes the driver that gets workers from YARN, and hands the key for
// clients on that it gets there; to nobody where users is nil.
func (s *services) connect(authority *pki.Authority, users *clienttoam.Verifier) (resourcemanager.Driver, error) {
	env := s.env
	var err error
	if s.clients, err = yarndriver.Connect(env.hadoop, env.container.Attempt, env.credentials, s.logger); err != nil {
		return nil, err
	}
	launcher, err := newWorkerLauncher(env, s.staged.Shipped, authority, s.rolesAt.Addr().String(), s.tokens.Current)
	if err != nil {
		return nil, err
	}
	place, err := launch.PlaceOf(env.config)
	if err != nil {
		return nil, err
	}
	driver := yarndriver.Config{
		ResourceManager: s.clients.ResourceManager,
		NodeManagers:    s.clients.NodeManagers,
		Registration:    yarndriver.RegistrationAt(env.host, s.restAt.Addr().(*net.TCPAddr).Port),
		Nodes:           s.staged.nodeReports(),
		Place:           place,
		Launch:          launcher.launch,
		Progress:        s.progress.share,
		Heartbeat:       env.config.Duration(config.YarnHeartbeatInterval),
		RequestInterval: env.config.Duration(config.YarnContainerRequestInterval),
	}
	if users != nil {
		driver.ClientToAMKey = users.SetKey
	}
	return yarndriver.New(driver, s.logger)
}

// wire makes the roles and what leads to them. Drivers share the room with requests.
func (s *services) wire(ctx context.Context, driver resourcemanager.Driver, authority *pki.Authority, room *rest.Room) error {
	env := s.env
	cluster := ComponentConfig{Config: env.config, Worker: workerSpec(env.config), Mode: env.strategy.ends, Files: s.files}
	cluster.JobMemory, _ = budgets(env.launch.Mode, env.config)
	var store *programs.Store
	settling := newSettling()
	if env.launch.Mode == launch.Session {
		cache := staging.Resume(s.files, env.launch.StagingDir, max(0, env.config.Int(config.YarnFileReplication)))
		store = programs.New(cache, s.files, program.Native())
		if err := store.Recover(ctx); err != nil {
			return err
		}
		cluster.JobEnded = func(job dispatcher.Submission) {
			store.Release(job.Program.SHA256)
			settling.jobEnded()
		}
	}
	var err error
	s.component, err = NewComponent(cluster, driver, s.logger)
	if err != nil {
		return err
	}
	switch programs := s.describePrograms(room); env.launch.Mode {
	case launch.Session:
		s.session = newSession(s.component, store, settling, programs, env.workDir, s.logger)
		s.drivers = s.session.drivers
	case launch.Application:
		s.application = newApplication(s.component, env, s.staged, s.tokens, programs, s.logger)
		s.drivers = s.application.drivers
	case launch.PerJob: // its program has planned where the client runs
	}
	identity, err := authority.IssueApplicationMaster(time.Now())
	if err != nil {
		return err
	}
	s.roles = rolerpc.NewServer(rolerpc.Config{ //nolint:contextcheck // it lives as long as the process
		TLS:         identity.ServerTLS(pki.OnlyRole(pki.RoleTaskExecutor)),
		Unreachable: liveness.After(env.config.Duration(config.HeartbeatInterval), env.config.Int(config.HeartbeatFailureThreshold)),
		Logger:      s.logger,
	}, s.component.Mux)
	return nil
}

// describePrograms says how users' programs run beside this process.
func (s *services) describePrograms(room *rest.Room) userdriver.Config {
	return userdriver.Config{
		Application: s.env.container.Attempt.Application.String(),
		Options:     s.env.forOthers(),
		Environment: s.env.variables,
		LogDir:      s.env.logDir,
		Limits:      limitPrograms(s.env.launch.Mode, s.env.config, room),
		Reach: func() *msg.Reach {
			tokens := creds.Credentials{Tokens: s.tokens.Current().Tokens}
			return &msg.Reach{HadoopConf: s.env.launch.HadoopConf, User: s.env.launch.User, Tokens: tokens.Marshal()}
		},
	}
}

// run serves until the cluster has to end, and ends it: REST first, so that the
// last answer is out, then the workers, the registration with YARN, and what
// belongs to another attempt, too, until YARN has recorded the end: what jobs
// without a result have begun to write, and the staged files. An error says that
// the process must end without touching anything.
func (s *services) run(ctx context.Context) (dispatcher.Outcome, error) {
	group, running := errgroup.WithContext(ctx)
	serving, stopServing := context.WithCancel(running)
	defer stopServing()
	served := make(chan struct{})
	taken := make(chan struct{}) // closed when the Dispatcher has the job: until then REST would say that there is none
	group.Go(func() error { return s.tokens.Run(running) })
	group.Go(func() error {
		// Workers that start with dead tokens are of no use. Until then YARN is told
		// nothing, and knows after how long to give this attempt up.
		if err := s.tokens.Ready(running); err != nil {
			return err
		}
		return s.component.Run(running)
	})
	group.Go(func() error { return s.roles.Serve(s.rolesAt) })
	group.Go(func() error {
		select {
		case <-taken:
			s.progress.watch(running, s.env.config.Duration(config.YarnHeartbeatInterval), s.component.Dispatcher.Jobs)
		case <-running.Done():
		}
		return nil
	})
	group.Go(func() error {
		defer close(served)
		select {
		case <-taken:
			return s.rest.Serve(serving, s.restAt)
		case <-serving.Done():
			return nil // the group has the cause
		}
	})
	var outcome dispatcher.Outcome
	group.Go(func() error {
		defer s.roles.Close()
		var err error
		if outcome, err = s.env.strategy.run(s, running, sync.OnceFunc(func() { close(taken) })); err == nil {
			stopServing()
			<-served
			// However long YARN is away: its record is all that is left of the job.
			err = s.component.ResourceManager.Shutdown(running, outcome.Status, outcome.Diagnostics)
		}
		if err == nil {
			s.component.DiscardOutputs(running)
			s.removeStaged(running)
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
	if closing := s.close(); closing != nil {
		s.logger.WithError(closing).Warn("services are not closed cleanly")
	}
	if errors.Is(err, errEnded) {
		return outcome, nil
	}
	return outcome, err
}

// errEnded ends the services of an application that has ended in order.
var errEnded = errors.New("application has ended")

// removeStaged removes the application's files, if that can be done in time: an HDFS that is
// away must not keep the process, to which YARN leaves ten minutes now
// (yarn.am.liveness-monitor.expiry-interval-ms, RMAppAttemptImpl's FINISHING). What stays is
// harmless, and gc removes it.
func (s *services) removeStaged(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.env.config.Duration(config.ServicesShutdownTimeout))
	defer cancel()
	if err := s.files.RemoveAll(ctx, s.env.launch.StagingDir); err != nil {
		s.logger.WithError(err).Warn("staged files stay behind, for bobbin gc")
	}
}

// close closes what startServices opened.
func (s *services) close() error {
	var faults []error
	for _, l := range []net.Listener{s.rolesAt, s.restAt} {
		if l != nil {
			if err := l.Close(); !errors.Is(err, net.ErrClosed) {
				faults = append(faults, err)
			}
		}
	}
	if s.clients != nil {
		faults = append(faults, s.clients.Close())
	}
	if s.files != nil {
		faults = append(faults, s.files.Close())
	}
	return errors.Join(faults...)
}
