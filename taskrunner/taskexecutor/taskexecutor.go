package taskexecutor

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
)

// Why Run ends by itself, beside nil for a worker that was released.
var (
	// ErrRejected says that the ResourceManager refused the worker for good.
	ErrRejected = errors.New("rejected by the ResourceManager")
	// errUnregistered says that no ResourceManager was found in time.
	errUnregistered = errors.New("registration timed out")
)

// Connector opens streams to the roles of the AM: a *rolerpc.Conn, or a
// *rolerpc.Local.
type Connector interface {
	Open(ctx context.Context, target string, h rolerpc.Handler) (*rolerpc.Stream, error)
}

// HostStarter starts task hosts.
type HostStarter interface {
	// Start starts one, or says why it cannot. ctx bounds nothing after that.
	Start(ctx context.Context, spec HostSpec) (Host, error)
}

// HostSpec is what a host is started with; the rest it is told in msg.StartHost.
type HostSpec struct {
	Host     ids.HostID
	Job      ids.JobID
	Program  string // file
	MemoryMB int
}

// Host is a running task host.
type Host interface {
	// Control is this end of the host's control connection.
	Control() net.Conn
	// PID is the host's process, 0 where it is none of its own.
	PID() int
	// Wait waits until the host has ended and all its output is read. It is
	// called once.
	Wait() Exit
	// Kill ends the host without its help. It may be called at any time, more
	// than once.
	Kill()
}

// Environment is what the shell needs, beside what the core is told.
type Environment struct {
	Roles Connector
	Hosts HostStarter
	// Programs are fetched from there.
	Programs Programs
	// Identity issues the hosts' certificates; nil where hosts use none.
	Identity *pki.Credentials
	// Instructions are the parts of msg.StartHost that are the same for all
	// hosts.
	Instructions msg.StartHost
	Logger       logrus.FieldLogger
}

// TaskExecutor is the role's running form. Make it with New and run it once with
// Run.
type TaskExecutor struct {
	config Config
	env    Environment
	loop   *actor.Loop[event, effect]
	logger logrus.FieldLogger
}

// New makes a TaskExecutor.
func New(config Config, env Environment) (*TaskExecutor, error) {
	core, err := newCore(config)
	if err != nil {
		return nil, err
	}
	t := &TaskExecutor{
		config: config, env: env,
		loop:   actor.New[event, effect](core, woken{}),
		logger: env.Logger.WithFields(logrus.Fields{"role": "taskexecutor", "container": config.Resource}),
	}
	t.loop.Observe(t.logStep)
	return t, nil
}

// Run runs the role until the ResourceManager releases it (nil), until it gives
// up (ErrRejected, or an error that says that it found no ResourceManager in time) or
// until ctx ends (its cause). Whatever the reason, no task host is left when it returns.
func (t *TaskExecutor) Run(ctx context.Context) error {
	if err := t.loop.Post(ctx, started{}); err != nil {
		return fmt.Errorf("start task executor %s: %w", t.config.Resource, err)
	}
	if err := t.loop.Run(ctx, t.start); err != nil {
		return fmt.Errorf("run task executor %s: %w", t.config.Resource, err)
	}
	return nil
}

// cause is the error that an end means; nil for a worker that was released.
func (e end) cause() error {
	switch e.Reason {
	case released:
		return nil
	case rejected:
		return fmt.Errorf("%w: %s", ErrRejected, e.Cause)
	case unregistered:
		return fmt.Errorf("%w: %s", errUnregistered, e.Cause)
	}
	return fmt.Errorf("end of unknown reason %s: %s", e.Reason, e.Cause)
}
