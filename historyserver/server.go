package historyserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/crowd"
	"github.com/bobbin-yarn/bobbin/internal/doorstep"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/internal/sitecert"
)

// Config describes a Server.
type Config struct {
	Files    filesystem.FileSystem
	Dirs     []string      // with the archives
	Interval time.Duration // between two refreshes
	Limits   Limits
	// TempDir has the server's local folder while it runs.
	TempDir string
	// WebInterval is how often pages ask again.
	WebInterval time.Duration
	// MasterLog and WorkerLog are URLs of logs with <jobid> and <tmid>; "": there are none.
	MasterLog, WorkerLog string
	// LogPages and LogFiles are the pages and the REST of YARN's log server (yarn.log.server.url, yarn.log.server.web-service.url),
	// which lead to the logs of an ApplicationMaster without MasterLog; "": there are none.
	LogPages, LogFiles string
	// Certificate is for TLS; nil: plain HTTP. Renew reads it again each minute, because a site replaces it before its end.
	Certificate *sitecert.Certificate
	Renew       func() (*sitecert.Certificate, error)
	// Version and Revision are those of this build.
	Version, Revision string
}

// Server shows the jobs of archives. Make it with New, and run it once with Run.
type Server struct {
	config   Config
	logger   logrus.FieldLogger
	folder   string
	unlisted map[string]bool // directories that could not be listed; only for refresh
	unread   *refusals       // archives that cannot be fetched; only for refresh
	stay     *refusals       // archives that cannot be removed; only for refresh

	mu   sync.Mutex // guards core
	core *core

	made    bool // the lists have all that core has; only for refresh
	failing bool // they could not be made when they were last to be; only for refresh
}

// New makes a Server.
func New(c Config, logger logrus.FieldLogger) *Server {
	return &Server{
		config: c, logger: logger.WithField("role", "history-server"), unlisted: make(map[string]bool),
		unread: newRefusals(), stay: newRefusals(), core: newCore(c.Limits, len(c.Dirs)),
	}
}

// Limits of what one client can make the server hold.
const (
	headerTime     = 10 * time.Second
	readTime       = 30 * time.Second
	writeTime      = 2 * time.Minute
	idleTime       = time.Minute
	maxHeader      = 16 << 10 // bytes
	maxConnections = 500
	closeTime      = 2 * time.Second
)

// Run serves on a listener, which it closes, until ctx ends, and returns nil then. It removes its local folder, and those of servers
// that were killed.
func (s *Server) Run(ctx context.Context, l net.Listener) (err error) {
	own, err := newFolder(s.config.TempDir)
	if err != nil {
		return errors.Join(fmt.Errorf("make the local folder: %w", err), l.Close())
	}
	defer func() { err = errors.Join(err, own.remove()) }()
	s.folder = own.path
	removeLeft(s.config.TempDir, s.logger)
	l = crowd.New(maxConnections, 0).Listen(doorstep.New(l))
	var certificate *renewed
	if s.config.Certificate != nil {
		certificate = renewing(s.config.Certificate, s.config.Renew, s.logger)
		l = tls.NewListener(l, sitecert.Server(certificate.current.Load))
	}
	server := &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeader, ConnState: asked, ErrorLog: logging.ForHTTP(s.logger), DisableGeneralOptionsHandler: true,
	}
	if err := s.makeLists(); err != nil { // the first refresh may take minutes
		return errors.Join(fmt.Errorf("make the lists of jobs: %w", err), l.Close())
	}
	running, stop := context.WithCancel(ctx)
	var refreshes sched.Group
	refreshes.Go(running, func() { s.refreshing(running) })
	if certificate != nil {
		refreshes.Go(running, func() { certificate.watch(running) })
	}
	closed := make(chan struct{})
	sched.Go(ctx, func() {
		defer close(closed)
		<-running.Done()
		closing, cancel := sched.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		if server.Shutdown(closing) != nil {
			_ = server.Close() // cuts those that did not finish in time
		}
	})
	err = server.Serve(l)
	stop()
	<-closed
	refreshes.Wait(context.WithoutCancel(ctx))
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve %s: %w", l.Addr(), err)
}

// asked is an http.Server's ConnState. The server asks for no identity: so a client that has sent a request is no stranger any
// more. When maxConnections are open, the one on which nothing has moved for the longest time is closed.
func asked(conn net.Conn, state http.ConnState) {
	if state == http.StateActive {
		crowd.Admit(conn, false)
		doorstep.Prove(conn)
	}
}
