package taskexecutor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/inquiry"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/rolerpc"
)

// Errors with which Run ends by itself. It returns nil for a worker that was released.
var (
	// ErrRejected says that the ResourceManager refused the worker for good.
	ErrRejected = errors.New("rejected by the ResourceManager")
	// errUnregistered says that no ResourceManager admitted the worker in time.
	errUnregistered = errors.New("registration timed out")
	errLeader       = errors.New("Config.GiveUp and Environment.Leader are set both, or not at all")
	// ErrTerminated says that Terminate has ended the worker.
	ErrTerminated = errors.New("worker is stopped")
)

// Connector opens streams to the roles of the ApplicationMaster at an address: a *rolerpc.Dialer, or a OneMaster.
type Connector interface {
	Open(ctx context.Context, address, target string, h rolerpc.Handler) (*rolerpc.Stream, error)
}

// OneMaster is the Connector of a worker whose master has no successor. It ignores addresses.
type OneMaster struct {
	// Roles are those of the master: a *rolerpc.Conn, or a *rolerpc.Local.
	Roles interface {
		Open(ctx context.Context, target string, h rolerpc.Handler) (*rolerpc.Stream, error)
	}
}

// Open implements Connector.
func (o OneMaster) Open(ctx context.Context, _, target string, h rolerpc.Handler) (*rolerpc.Stream, error) {
	return o.Roles.Open(ctx, target, h)
}

// HostStarter starts task hosts.
type HostStarter interface {
	// Start starts a host, or says why it cannot. The end of ctx after Start has no effect on the
	// host.
	Start(ctx context.Context, spec HostSpec) (Host, error)
}

// HostSpec has the values to start a host with. It gets the others in msg.StartHost.
type HostSpec struct {
	Host    ids.HostID
	Job     ids.JobID
	Program string // file
	Memory  memory.Slot
}

// Controlling makes a TaskExecutor's end of the control connection of a task host. It accepts
// msg.HostToTaskExecutor, and messages of msg.MaxWorkerMessage at most.
func Controlling(conn net.Conn) *control.Conn {
	c := control.New(conn, msg.HostToTaskExecutor)
	c.Bound(msg.MaxWorkerMessage)
	return c
}

// Host is a running task host.
type Host interface {
	// Control is this end of the host's control connection, as Controlling makes it.
	Control() control.Channel
	// PID is the pid of the host; 0 if it is not a process of its own.
	PID() int
	// Wait waits until the host has ended and its output is read. It is called once.
	Wait() Exit
	// Kill ends the host by force. It may be called at any time, also more than once.
	Kill()
}

// Environment has the dependencies of the shell.
type Environment struct {
	Roles Connector
	// Leader finds the leader after the loss of the ResourceManager. It is required with Config.GiveUp.
	Leader ha.Retrieval
	Hosts  HostStarter
	// Artifacts fetches jobs' files, and programs that were not localized; nil: it fetches none.
	Artifacts Artifacts
	// UpdateTokens makes Artifacts use new tokens (creds.Credentials.Marshal) from the next connection
	// on. It must not block. The first ones are those of Config. Nil if Artifacts need no tokens.
	UpdateTokens func(tokens msg.Secret) error
	// Desk answers questions about this process; nil: it shows nothing.
	Desk *inquiry.Desk
	// Partitions keeps the blocking partitions of this worker's hosts; nil: they write none.
	Partitions Partitions
	// Status reads what this process uses; nil: nobody measures it.
	Status func(now time.Time) msg.ProcessMetrics
	// HDFS reads what this process has measured of HDFS; nil: nobody measures it.
	HDFS func() *msg.HDFSMetrics
	// Identity issues the hosts' certificates; nil if hosts use none.
	Identity *pki.Credentials
	// Instructions has the fields of msg.StartHost that are equal for all hosts.
	Instructions msg.StartHost
	Logger       logrus.FieldLogger
}

// TaskExecutor runs the role. Make it with New, and call Run once.
type TaskExecutor struct {
	config Config
	env    Environment
	loop   *actor.Loop[event, effect]
	logger logrus.FieldLogger
	last   atomic.Pointer[msg.WorkerMetrics] // nil: nothing is measured yet
	shell  atomic.Pointer[shell]             // nil: it has not begun
}

// Metrics returns what this worker and its hosts used some seconds ago. It may be called at any time.
func (t *TaskExecutor) Metrics() msg.WorkerMetrics {
	if m := t.last.Load(); m != nil {
		return *m
	}
	return msg.WorkerMetrics{}
}

// New makes a TaskExecutor.
func New(config Config, env Environment) (*TaskExecutor, error) {
	if env.Partitions != nil {
		config.PartitionDisks, config.PartitionAddress = len(env.Partitions.Dirs("")), env.Partitions.Address()
	}
	core, err := newCore(config)
	if err != nil {
		return nil, err
	}
	if (config.GiveUp > 0) != (env.Leader != nil) {
		return nil, errLeader
	}
	t := &TaskExecutor{
		config: config, env: env,
		loop:   actor.New[event, effect](core, woken{}),
		logger: env.Logger.WithFields(logrus.Fields{"role": "taskexecutor", "container": config.Resource}),
	}
	t.loop.Observe(t.logStep)
	return t, nil
}

// Run runs the role. It returns nil when the ResourceManager releases the worker, an error when it
// gives up (ErrRejected, or no registration in time), and the cause of ctx when ctx ends. In all
// cases no task host is left when it returns.
func (t *TaskExecutor) Run(ctx context.Context) error {
	if err := t.loop.Post(ctx, started{}); err != nil {
		return fmt.Errorf("start task executor %s: %w", t.config.Resource, err)
	}
	if err := t.loop.Run(ctx, t.start); err != nil {
		return fmt.Errorf("run task executor %s: %w", t.config.Resource, err)
	}
	return nil
}

// Terminate ends the worker in order: it leaves the roles with this cause, ends its hosts, and then Run
// returns ErrTerminated. It may be called at any time.
func (t *TaskExecutor) Terminate(ctx context.Context, cause string) {
	t.loop.Tell(ctx, terminated{cause})
}

// cause is the error of Run for this end; nil for a released worker.
func (e end) cause() error {
	switch e.Reason {
	case released:
		return nil
	case rejected:
		return fmt.Errorf("%w: %s", ErrRejected, e.Cause)
	case stopped:
		return fmt.Errorf("%w: %s", ErrTerminated, e.Cause)
	case unregistered:
		return fmt.Errorf("%w: %s", errUnregistered, e.Cause)
	}
	return fmt.Errorf("end of unknown reason %s: %s", e.Reason, e.Cause)
}
