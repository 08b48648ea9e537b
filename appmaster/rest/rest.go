// Package rest answers HTTP for the ApplicationMaster: Flink's monitoring paths in Flink's JSON shapes, a
// few paths of Bobbin's own for the client, and one page for people.
//
// It owns the port, and goroutines that all end with Serve: one that accepts connections, one for each
// connection, and those of net/http. Handlers ask a Gateway and never see a role's state. The package must
// never import a role.
package rest

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/internal/clienttoam"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/crowd"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/logging"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/internal/sitecert"
)

// Gateway is what REST needs of the ApplicationMaster. REST distinguishes these errors: those of package
// msg, and actor.ErrStopped.
type Gateway interface {
	Jobs(ctx context.Context) ([]msg.JobOverview, error)
	JobDetails(ctx context.Context, job ids.JobID) (msg.JobDetails, error)
	// VertexSubtasks describes a vertex of a job, which its id in JobDetails names, with its subtasks.
	VertexSubtasks(ctx context.Context, job ids.JobID, vertex string) (msg.VertexSubtasks, error)
	CancelJob(ctx context.Context, job ids.JobID) error
	// ClientSeen notes that a job's client is alive.
	ClientSeen(ctx context.Context, job ids.JobID) error
	// Blocklist returns the nodes that jobs have set aside, by name.
	Blocklist(ctx context.Context) ([]msg.BlockedNode, error)
	// Attempts returns the attempts of the application, the oldest first.
	Attempts(ctx context.Context) ([]msg.AttemptDetails, error)
	// Application describes the application.
	Application(ctx context.Context) (msg.ApplicationDetails, error)
	// Start tells where the time of the start of this attempt went.
	Start(ctx context.Context) ([]msg.Span, error)
	// JobStart tells where the time of the start of a job went.
	JobStart(ctx context.Context, job ids.JobID) ([]msg.Span, error)
	// JobResult waits for the end of a job up to the given time.
	JobResult(ctx context.Context, job ids.JobID, wait time.Duration) (msg.JobEnded, error)
	// CollectPage waits for the first record of a page up to the given time.
	CollectPage(ctx context.Context, job ids.JobID, name string, cursor int64, wait time.Duration) (msg.CollectPage, error)
	TaskExecutors(ctx context.Context) ([]msg.TaskExecutorDetails, error)
	// SlotSupply returns the slots that jobs have, and those that they wait for.
	SlotSupply(ctx context.Context) (msg.SlotSupply, error)
	ShutDown(ctx context.Context) error
}

// Processes is what REST needs to show processes. It distinguishes the errors of package msg.
type Processes interface {
	// TaskExecutor returns one worker, with its jobs.
	TaskExecutor(ctx context.Context, worker ids.ResourceID) (msg.TaskExecutorDetails, error)
	// Inquire asks a worker's process, or one of its task hosts, about itself. The worker "" is the ApplicationMaster.
	// It answers within some ten seconds.
	Inquire(ctx context.Context, worker ids.ResourceID, host ids.HostID, about msg.Inquiry) (msg.InquiryAnswer, error)
}

// Config describes a Server.
type Config struct {
	// TLS has the certificate of the door for users: pki.Credentials.RESTServerTLS, with Site.Door if there is a Site.
	TLS *tls.Config
	// Site is the site's certificate for browsers; nil: they get the application's.
	Site *sitecert.Certificate
	// Token authenticates the owner.
	Token pki.Token
	// Viewer authenticates programs that may view, such as Prometheus. Zero: none can.
	Viewer pki.Token
	// ClientToAM lets other users in by YARN's tokens; nil: none.
	ClientToAM *clienttoam.Verifier
	// Negotiator lets users in by Kerberos tickets; nil: none.
	Negotiator Negotiator
	// ShortName returns the user name of a principal (hadoop.security.auth_to_local); nil: the principal
	// itself.
	ShortName func(principal string) (string, error)
	// Rights are the rights of users whose names are known.
	Rights Rights
	// Proxy is YARN's web proxy.
	Proxy Proxy
	// Application is the application's id; "": it is not known.
	Application string
	// Host looks for the name by which browsers reach this node, and may wait for DNS; nil: it is not known.
	Host func(context.Context) string
	// Container is that of this process; nil: it is not known.
	Container *restapi.MasterContainer
	// ProxyBase is the path under which YARN's proxy shows the application; "": it is not known.
	ProxyBase string
	// Version and Revision are those of this build.
	Version, Revision string
	// Options are the cluster's. REST shows them, and they bound what it accepts.
	Options config.Config
	// Memory is how the ApplicationMaster divides its container, which REST shows; zero: it has none.
	Memory memory.Master
	// Room is for requests' bodies while they are read; nil: the Room of budget.NewRoom by Options.
	Room *budget.Room
	// AnswersMemory is the memory for answers that are being written, and for a large one that is kept, in bytes; 0: 16 MiB.
	AnswersMemory int64
	// Metrics are the sources of all metrics.
	Metrics Metrics
	// Processes shows workers, and the ApplicationMaster; nil: none is shown.
	Processes Processes
	// Session accepts jobs and programs; nil: the cluster accepts none.
	Session Session

	maxConnections int // 0: maxConnections
}

// maxProgram is the largest size of a program, in bytes.
func (c Config) maxProgram() int64 { return int64(c.Options.Memory(config.RESTMaxProgramSize)) }

// Limits of what one client can make the server hold.
const (
	headerTime = 10 * time.Second
	readTime   = 30 * time.Second
	writeTime  = maxWait + budget.RoomTime + 30*time.Second // a long poll, then the wait for room, then the reader
	idleTime   = time.Minute
	maxHeader  = 16 << 10          // bytes
	maxBody    = budget.MiddleText // bytes, except for paths that set another limit
	// closeTime is how long answers that are being written may take when the server stops. The most
	// important one is the answer to the request that ends the cluster.
	closeTime = 2 * time.Second
)

// Server answers on one port through two doors: TLS for the owner and for users who authenticate, plain
// HTTP for YARN's proxy.
type Server struct {
	config  Config
	gateway Gateway
	logger  logrus.FieldLogger

	operations *operations
	answers    answerRooms
	browsers   *browsers
	recent     recent
	joined     joined

	lobby bool // it turns all away: see NewLobby
}

// New makes a Server.
func New(settings Config, gateway Gateway, logger logrus.FieldLogger) *Server {
	if settings.Room == nil {
		settings.Room = budget.NewRoom(0, settings.Options)
	}
	return &Server{
		config: settings, gateway: gateway, logger: logger.WithField("role", "rest"),
		operations: &operations{keep: settings.Options.Duration(config.RESTAsyncStoreDuration)},
		answers:    newAnswerRooms(settings.AnswersMemory, memory.MasterSizedBy(settings.Options)),
		browsers:   newBrowsers(),
	}
}

// Serve answers until ctx ends, and then finishes the answers in progress. It closes the listener and waits
// for everything that it started. An error says that the port cannot be served any more.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	entrance := newEntrance(l, s.config.TLS, crowd.New(cmp.Or(s.config.maxConnections, maxConnections), maxLesser))
	users := s.httpServer(s.behind(s.secureDoor))
	proxy := s.httpServer(s.behind(s.proxyDoor))
	// The proxy opens a connection for each request, and only its address identifies it. Other callers from
	// that address must not keep connections.
	proxy.SetKeepAlivesEnabled(false)
	ended := make(chan error, 2)
	go func() { ended <- users.Serve(entrance.secure) }()
	go func() { ended <- proxy.Serve(entrance.plain) }()
	accepting := make(chan error, 1)
	go func() { accepting <- entrance.run(ctx) }() // ends when the listener is closed

	var err error
	select {
	case <-ctx.Done():
	case failed := <-accepting:
		close(accepting)
		if ctx.Err() == nil { // otherwise the end of ctx is the reason
			err = fmt.Errorf("accept on %s: %w", l.Addr(), failed)
		}
	}
	entrance.close()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	for _, server := range []*http.Server{users, proxy} {
		if server.Shutdown(closing) != nil {
			_ = server.Close() // cuts those that did not finish in time
		}
	}
	if accept := <-accepting; accept != nil { // it reports that its listener is closed, which is expected
		s.logger.WithError(accept).Debug("port is closed")
	}
	for range 2 {
		if serving := <-ended; !errors.Is(serving, http.ErrServerClosed) && !errors.Is(serving, net.ErrClosed) {
			err = errors.Join(err, serving)
		}
	}
	return err
}

func (s *Server) httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ConnContext:       withConnection,
		ConnState:         asked,
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       readTime,
		WriteTimeout:      writeTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          logging.ForHTTP(s.logger),
		// Otherwise "OPTIONS *" would be answered before the door.
		DisableGeneralOptionsHandler: true,
	}
}
