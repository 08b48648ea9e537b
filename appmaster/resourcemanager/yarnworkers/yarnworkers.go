// Package yarnworkers is the ResourceManager's Provider on YARN: a worker is a
// container. It owns the asks of this application attempt, its heartbeat to
// YARN's ResourceManager, and every container from its allocation to its end.
//
// The core is pure and decides; the Provider is the loop around it. The Provider owns
// the loop's goroutine, one that calls YARN's ResourceManager, one that reports
// upwards, and a bounded number that call NodeManagers, few at each node. Of all of
// Bobbin only this package may import amrm and nmclient, and it must import no role
// but the ResourceManager, whose Provider it is.
package yarnworkers

import (
	"context"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ResourceManagerClient is what the Provider uses of *amrm.Client.
type ResourceManagerClient interface {
	Register(ctx context.Context, r amrm.RegisterRequest) (amrm.Registration, error)
	SetAsk(ask amrm.Ask)
	SetSchedulingRequest(r amrm.SchedulingRequest)
	Release(ids ...records.ContainerID)
	Blacklist(avoid, dontAvoid []string)
	Allocate(ctx context.Context, progress float32) (amrm.Response, error)
	Finish(ctx context.Context, status records.FinalApplicationStatus, diagnostics, trackingURL string) error
}

// NodeManagerClient is what the Provider uses of *nmclient.Client. Its methods are
// called from many goroutines.
type NodeManagerClient interface {
	SetTokens(tokens map[records.NodeID]*creds.Token)
	Start(ctx context.Context, container records.Container, launch records.ContainerLaunchContext) error
	Stop(ctx context.Context, on records.NodeID, id records.ContainerID) error
	Statuses(ctx context.Context, on records.NodeID, ids ...records.ContainerID) ([]records.ContainerStatus, error)
}

// Launch makes what starts a TaskExecutor in a container. It may be called from
// several goroutines, and must not block for long.
type Launch func(id records.ContainerID, node records.NodeID, spec resourcemanager.WorkerResourceSpec) (records.ContainerLaunchContext, error)

// Config is what a Provider is told. Its clients stay the caller's to close, after
// Run.
type Config struct {
	ResourceManager ResourceManagerClient
	NodeManagers    NodeManagerClient
	// Registration is where the application can be reached: REST's address.
	Registration amrm.RegisterRequest
	// Nodes are those of the cluster, to be named in asks; YARN keeps the list
	// current from then on. Without nodes containers come one per NodeManager
	// heartbeat.
	Nodes  []records.NodeReport
	Place  launch.WorkerPlace // where workers may be
	Launch Launch
	// ClientToAMKey is told the key that YARN gives with the registration, empty on
	// open clusters; from another goroutine. nil: nobody wants to know.
	ClientToAMKey func(key []byte)
	// Heartbeat is yarn.heartbeat.interval, 5 s, and RequestInterval, while any
	// ask is open, yarn.heartbeat.container-request-interval, 100 ms.
	Heartbeat       time.Duration
	RequestInterval time.Duration
	// Progress is how far the application is, 0 to 1, asked before each heartbeat: it
	// must not block. nil: YARN is told 1.
	Progress func() float32
}

// Default values of a Config's times.
const (
	DefaultHeartbeat       = 5 * time.Second
	DefaultRequestInterval = 100 * time.Millisecond
)

// Provider is a resourcemanager.WorkerProvider. Make it with New.
type Provider struct {
	config Config
	loop   *actor.Loop[event, effect]
	logger logrus.FieldLogger
}

var _ resourcemanager.WorkerProvider = (*Provider)(nil)

// New makes a Provider.
func New(config Config, logger logrus.FieldLogger) (*Provider, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	d := &Provider{config: config, logger: logger.WithField("role", "yarnworkers")}
	core := newCore(config.Heartbeat, config.RequestInterval, config.Place, config.Nodes)
	d.loop = actor.New[event, effect](core, woken{})
	d.loop.Observe(d.logStep)
	return d, nil
}

// Run registers with YARN and serves until ctx ends. It ends with an error that
// is amrm.ErrAttemptGone when YARN has given the attempt up: the process must end
// then, and touch nothing.
func (d *Provider) Run(ctx context.Context, report resourcemanager.Report) error {
	s := &shell{
		Provider: d, report: report,
		yarn: actor.NewOutbox[call](0, nil), upward: actor.NewOutbox[news](0, nil),
		starts: newNodeCalls(d.loop.Go), others: newNodeCalls(d.loop.Go),
	}
	return d.loop.Run(ctx, s.begin)
}

// Order takes new orders.
func (d *Provider) Order(ctx context.Context, orders resourcemanager.Orders) {
	d.loop.Tell(ctx, ordered{orders})
}

// Deregister stops what was released and unregisters from YARN, after two heartbeats
// at the latest, as YARN ends what is left. Diagnostics are cut to 8 KiB.
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
