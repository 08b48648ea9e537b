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
	// ErrUnregistered says that no ResourceManager was found in time.
	ErrUnregistered = errors.New("no ResourceManager")
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
	loop   *actor.OldLoop[Event, Effect]
	logger logrus.FieldLogger
}

// New makes a TaskExecutor.
func New(config Config, env Environment) (*TaskExecutor, error) {
	core, err := NewCore(config)
	if err != nil {
		return nil, err
	}
	t := &TaskExecutor{
		config: config, env: env,
		loop:   actor.NewOld[Event, Effect](core, nil),
		logger: env.Logger.WithFields(logrus.Fields{"role": "taskexecutor", "container": config.Resource}),
	}
	t.loop.Observe(t.logStep)
	return t, nil
}

// Run runs the role until the ResourceManager releases it (nil), until it gives
// up (ErrRejected, ErrUnregistered) or until ctx ends (its cause). Whatever the
// reason, no task host is left when it returns.
func (t *TaskExecutor) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	shell := newShell(ctx, t, cancel)
	t.loop.SetShell(shell)
	if t.config.MemoryMB > 0 {
		shell.sampleMemory(ctx, t.config.MemoryMB)
	}
	if err := t.loop.Post(ctx, Started{}); err != nil {
		return fmt.Errorf("start task executor %s: %w", t.config.Resource, err)
	}
	err := t.loop.Run(ctx)
	cancel(actor.ErrStopped)
	shell.wait()
	if errors.Is(err, errReleased) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("run task executor %s: %w", t.config.Resource, err)
	}
	return nil
}

// errReleased is the cause with which a released TaskExecutor ends its context.
var errReleased = errors.New("released by the ResourceManager")

// cause is the error that an End means.
func (e End) cause() error {
	switch e.Reason {
	case Released:
		return errReleased
	case Rejected:
		return fmt.Errorf("%w: %s", ErrRejected, e.Cause)
	case Unregistered:
		return fmt.Errorf("%w: %s", ErrUnregistered, e.Cause)
	}
	return fmt.Errorf("end of unknown reason %d: %s", e.Reason, e.Cause)
}
