// Package yarnworkers is the ResourceManager's WorkerProvider on YARN: a worker is a container. It
// owns the requests of this application attempt, its heartbeat to YARN's ResourceManager, and every
// container from its allocation to its end.
//
// The core is pure and decides; the Provider is the loop around it. The Provider owns the loop's
// goroutine, one that calls YARN's ResourceManager, one that reports to Bobbin's ResourceManager,
// and a bounded number that call NodeManagers, a few for each node. In Bobbin only this package may
// import amrm and nmclient. It must import no role except resourcemanager, which it serves.
package yarnworkers

import (
	"context"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ResourceManagerClient has the methods of *amrm.Client that the Provider uses.
type ResourceManagerClient interface {
	Register(ctx context.Context, r amrm.RegisterRequest) (amrm.Registration, error)
	SetAsk(ask amrm.Ask)
	SetSchedulingRequest(r amrm.SchedulingRequest)
	Release(ids ...records.ContainerID)
	Blacklist(avoid, dontAvoid []string)
	Allocate(ctx context.Context, progress float32) (amrm.Response, error)
	Finish(ctx context.Context, status records.FinalApplicationStatus, diagnostics, trackingURL string) error
}

// NodeManagerClient has the methods of *nmclient.Client that the Provider uses. They are called
// from many goroutines.
type NodeManagerClient interface {
	SetTokens(tokens map[records.NodeID]*creds.Token)
	Start(ctx context.Context, container records.Container, launch records.ContainerLaunchContext) error
	Stop(ctx context.Context, on records.NodeID, id records.ContainerID) error
	Statuses(ctx context.Context, on records.NodeID, ids ...records.ContainerID) ([]records.ContainerStatus, error)
}

// Launch makes the launch context of a TaskExecutor in a container. It may be called from several
// goroutines, and must not block for long.
type Launch func(id records.ContainerID, node records.NodeID, spec resourcemanager.WorkerResourceSpec) (records.ContainerLaunchContext, error)

// Config describes a Provider. The caller closes the clients after Run.
type Config struct {
	ResourceManager ResourceManagerClient
	NodeManagers    NodeManagerClient
	// Attempt is the application attempt that the process runs.
	Attempt records.ApplicationAttemptID
	// KeepPrevious says that the containers of earlier attempts, which YARN keeps, go on: their workers return.
	// Otherwise they are given back.
	KeepPrevious bool
	// History is the URL to which YARN's link leads when the application has ended; "": none.
	History string
	// Registered is called when YARN has registered the attempt, with the queue of the application; "": the answer is lost. It
	// must not block. nil: nobody waits for that.
	Registered func(queue string)
	// Confirm looks whether a later attempt leads the application; then the error is ha.ErrSuperseded. It is called
	// while YARN does not answer, one call at a time. Other errors say that it is not known. nil: nobody can tell.
	Confirm func(ctx context.Context) error
	// Registration has the address of the application: that of REST.
	Registration amrm.RegisterRequest
	Place        launch.WorkerPlace // where workers may run
	Launch       Launch
	// ClientToAMKey receives the key that YARN gives with the registration, from another goroutine.
	// The key is empty on clusters without security. nil: the key is not used.
	ClientToAMKey func(key []byte)
	// Largest receives YARN's largest container after the registration, and zero once it may have grown. It must not
	// block. nil: nobody asks.
	Largest func(records.Resource)
	// Heartbeat is yarn.heartbeat.interval. RequestInterval is
	// yarn.heartbeat.container-request-interval, and holds while requests are outstanding.
	Heartbeat       time.Duration
	RequestInterval time.Duration
	// Progress gives the progress of the application, 0 to 1. It is called before each heartbeat
	// and must not block. nil: YARN gets 1.
	Progress func() float32
	// Metrics shows the provider's metrics, in the scope MetricsScope. nil: nothing shows them.
	Metrics      *metrics.Registry
	MetricsScope metrics.Scope
}

// Provider is a resourcemanager.WorkerProvider. Make it with New.
type Provider struct {
	config Config
	counts counts
	loop   *actor.Loop[event, effect]
	logger logrus.FieldLogger
}

var _ resourcemanager.WorkerProvider = (*Provider)(nil)

// New makes a Provider.
func New(config Config, logger logrus.FieldLogger) (*Provider, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	d := &Provider{config: config, counts: newCounts(config.Metrics, config.MetricsScope), logger: logger.WithField("role", "yarnworkers")}
	d.loop = actor.New[event, effect](newCore(config), woken{})
	d.loop.Observe(d.observe)
	return d, nil
}

// observe sees each step of the loop.
func (d *Provider) observe(e event, effects []effect) {
	d.counts.step(e, effects)
	d.logStep(e, effects)
}

// Run registers with YARN and serves until ctx ends. It returns an error that is
// amrm.ErrAttemptGone when YARN has given up the attempt, and one that is ha.ErrSuperseded when a later
// attempt leads: then the process must end without any further action.
func (d *Provider) Run(ctx context.Context, report resourcemanager.Report) error {
	s := &shell{
		Provider: d, report: report,
		yarn: actor.NewOutbox[call](0, nil), upward: actor.NewOutbox[news](0, nil),
		starts: newNodeCalls(d.loop.Go), others: newNodeCalls(d.loop.Go),
	}
	return d.loop.Run(ctx, s.begin)
}

// KnowNodes tells the nodes of the cluster, as they were when the process started or before. Requests name them, and
// YARN's answers keep the list current. Without nodes each NodeManager heartbeat brings one container. It is called once
// at most, also before Run.
func (d *Provider) KnowNodes(ctx context.Context, nodes []records.NodeReport) {
	d.loop.Tell(ctx, nodesKnown{nodes})
}

// Order sends new orders to the loop.
func (d *Provider) Order(ctx context.Context, orders resourcemanager.Orders) {
	d.loop.Tell(ctx, ordered{orders})
}

// Deregister stops the released containers and unregisters from YARN. It waits at most two
// heartbeats for the stops, because YARN ends the remaining containers. It cuts diagnostics to 8
// KiB.
func (d *Provider) Deregister(ctx context.Context, status msg.ApplicationStatus, diagnostics string) error {
	err, asking := actor.Ask(ctx, d.loop, func(q actor.Question[error]) event {
		return finishAsked{status: finalStatus(status), diagnostics: clip(diagnostics, maxDiagnostics), question: q}
	})
	if asking != nil {
		err = asking
	}
	if err != nil {
		return fmt.Errorf("deregister as %s: %w", status, err)
	}
	return nil
}
