// Package uber is a WorkerProvider of the ResourceManager that runs a worker in the ApplicationMaster's
// own container, as a child process (MapReduce's uber mode). The client has asked YARN for a container
// that is large enough for both. Another provider starts all further workers, and does everything else: in
// production that is yarnworkers.
//
// There is one worker of this kind at a time. The next one starts when the process of the last one has
// ended, with all that it has left behind. While jobs have set the node aside, none starts here.
//
// The core is pure and decides; the Provider is the loop around it. The Provider owns the loop's
// goroutine, one for the other provider, one that reports, and one for the worker. process.go starts
// processes; the simulation has another Machine. The package must import no role except resourcemanager,
// which it serves.
package uber

import (
	"context"
	"errors"
	"fmt"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Machine starts the processes of workers beside this process.
type Machine interface {
	// Start starts a worker. The end of ctx after Start has no effect on it.
	Start(ctx context.Context, worker ids.ResourceID, l launch.WorkerProcess) (Worker, error)
}

// Worker is the process of a worker. Any goroutine may call its methods.
type Worker interface {
	// Stop tells the worker to end, and forces it some time later. It does not wait, and may be called
	// more than once.
	Stop()
	// Wait waits until the worker has ended with all that it has started, and says how it ended. It is
	// called once.
	Wait() (how string)
}

// Config describes a Provider.
type Config struct {
	Container string // of this process; the ids of its workers begin with it
	Host      string // YARN's name of the node
	// Spec describes the worker that fits into the container.
	Spec    resourcemanager.WorkerResourceSpec
	Machine Machine
	// Launch makes what a worker starts with. It may be called from any goroutine.
	Launch func(worker ids.ResourceID, host string, spec resourcemanager.WorkerResourceSpec) (launch.WorkerProcess, error)
	// Others starts the workers that do not fit into the container.
	Others resourcemanager.WorkerProvider
}

func (c Config) validate() error {
	var faults []error
	for _, missing := range []struct {
		what string
		is   bool
	}{
		{"container", c.Container == ""},
		{"host", c.Host == ""},
		{"size of the worker", c.Spec.MemoryMB <= 0},
		{"machine", c.Machine == nil},
		{"launch context", c.Launch == nil},
		{"other provider", c.Others == nil},
	} {
		if missing.is {
			faults = append(faults, errors.New(missing.what+" is missing"))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("configure the worker beside the ApplicationMaster: %w", err)
	}
	return nil
}

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
	d := &Provider{config: config, logger: logger.WithField("role", "uber")}
	d.loop = actor.New[event, effect](newCore(config.Container, config.Spec, config.Host), nil)
	d.loop.Observe(d.logStep)
	return d, nil
}

// Run serves until ctx ends, and then ends the worker. It returns the error of the other provider.
func (d *Provider) Run(ctx context.Context, report resourcemanager.Report) error {
	return d.loop.Run(ctx, func(context.Context) actor.Shell[effect] {
		s := &shell{Provider: d, report: report, upward: actor.NewOutbox[func(context.Context) bool](0, nil)}
		d.loop.Go(s.runOthers)
		d.loop.Go(func(ctx context.Context) {
			s.upward.Serve(ctx, func(f func(context.Context) bool) bool { return f(ctx) })
		})
		return s
	})
}

// Order starts the first worker here, and orders the rest from the other provider.
func (d *Provider) Order(ctx context.Context, orders resourcemanager.Orders) {
	rest, err := actor.Ask(ctx, d.loop, func(q actor.Question[resourcemanager.Orders]) event {
		return ordered{orders, q}
	})
	if err == nil { // otherwise the loop has ended, and with it the other provider
		d.config.Others.Order(ctx, rest)
	}
}

// Deregister ends the application through the other provider. It does not wait for the end of the worker,
// which the ResourceManager has released, and which ends with this process at the latest.
func (d *Provider) Deregister(ctx context.Context, status msg.ApplicationStatus, diagnostics string) error {
	return d.config.Others.Deregister(ctx, status, diagnostics)
}
