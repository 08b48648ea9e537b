package taskhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/inquiry"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

// Errors of Run that callers test with errors.Is.
var (
	// ErrAbandoned says that the TaskExecutor closed the control connection or died: nothing needs
	// this host any more.
	ErrAbandoned = errors.New("task executor is gone")
	// ErrTaskStuck says that a cancelled task did not end. Only the end of the process ends its
	// goroutine.
	ErrTaskStuck = errors.New("task does not end")
	// ErrPlan says that this build of the program does not build the graph of the submitted job.
	ErrPlan = errors.New("program does not build the submitted job")
)

// Program is the user's program. It makes the tasks of a job, with the plan function and the
// arguments of the submission.
type Program interface {
	// Compile builds the job registered under this name. It calls user code, and returns an error
	// if this code panics.
	Compile(job string, args []byte, parallelism int, config map[string]string) (Compiled, error)
}

// Compiled is a job that can run.
type Compiled struct {
	Graph jobgraph.JobGraph // without splits
	Tasks []operator.Task   // by VertexID
}

// subtasks is the number of tasks that the job has on all workers.
func (c *Compiled) subtasks() (n int) {
	for _, v := range c.Graph.Vertices {
		n += v.Parallelism
	}
	return n
}

// Options are the dependencies that the process gives to a host.
type Options struct {
	Program Program
	// Open gives the files and the log of a host, once it knows its job.
	Open func(msg.StartHost) (Surroundings, error)
	// Stdout is where print sinks write.
	Stdout io.Writer
	// SetMemoryLimit bounds the process's memory, in bytes. Nil in local mode, where the process
	// belongs to the user.
	SetMemoryLimit func(bytes int64)
	// DataPlane opens the host's end of the data plane; nil: Network.
	DataPlane func(ctx context.Context, config exchange.Config) (DataPlane, error)
}

// Surroundings are the files and the log of a host. All fields except UpdateTokens, Desk, HDFS and Process are required.
type Surroundings struct {
	Files      filesystem.FileSystem
	CloseFiles func() error // called when all tasks have ended
	// UpdateTokens makes Files use new tokens instead of those of msg.StartHost. It must not block.
	// Nil if Files need no tokens.
	UpdateTokens func(tokens msg.Secret) error
	// Desk answers questions about the process. Nil if it belongs to the user.
	Desk *inquiry.Desk
	// HDFS reads what the process has measured of HDFS. Nil if it belongs to the user.
	HDFS func() *msg.HDFSMetrics
	// Process reads what the process uses. Nil if it belongs to the user.
	Process func(now time.Time) msg.ProcessMetrics
	Logger  logrus.FieldLogger
}

// Run runs a task host. It greets the TaskExecutor at the other end of conn, learns its job, and
// runs the tasks that it gets. It returns nil when it is told to stop, ErrAbandoned when the
// connection ends, and the cause of ctx when ctx ends. It returns any other failure after it has
// reported it to the TaskExecutor as HostLost. It closes conn.
func Run(ctx context.Context, conn control.Channel, o Options) error {
	release := sched.OnEnd(ctx, func() { conn.Close() }) // ends blocked calls
	defer release()
	defer conn.Close()
	start, err := greet(conn)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil || start == nil:
		return err
	}
	h, err := newHost(ctx, *start, o)
	if err != nil { // the TaskExecutor logs it
		lost := msg.HostLost{Host: start.Host, Failure: *msg.NewFailure(err.Error(), "")}
		lost.Failure.Permanent = errors.Is(err, ErrPlan)
		return errors.Join(err, conn.Send(lost))
	}
	if err := conn.Send(msg.HostReady{Host: start.Host, DataAddress: h.plane.now().Address()}); err != nil {
		h.plane.now().Close()
		return errors.Join(fmt.Errorf("%w: %w", ErrAbandoned, err), h.open.CloseFiles())
	}
	return h.run(ctx, conn)
}

// greet sends HostHello and gives the answer of the TaskExecutor; nil if the TaskExecutor does not
// need the host.
func greet(conn control.Channel) (*msg.StartHost, error) {
	if err := conn.Send(msg.HostHello{ProtocolVersion: jobgraph.ProtocolVersion}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAbandoned, err)
	}
	for {
		m, err := conn.Receive()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrAbandoned, err)
		}
		switch m := m.(type) {
		case msg.StartHost:
			return &m, nil
		case msg.StopHost:
			return nil, nil
		default: // SetMemory: StartHost repeats it
		}
	}
}

// newHost builds the job and opens the host's files and its end of the data plane.
func newHost(ctx context.Context, start msg.StartHost, o Options) (*host, error) {
	settings, err := settingsOf(start.Job.Config)
	if err != nil {
		return nil, err
	}
	if o.SetMemoryLimit != nil {
		o.SetMemoryLimit(int64(start.Memory.Limit()))
	}
	compiled, err := compile(start.Job, o.Program)
	if err != nil {
		return nil, err
	}
	data := exchange.Config{
		Job: start.Job.ID, Host: start.Host,
		ListenHost:    start.ListenHost,
		Memory:        int(start.Memory.Network),
		BufferTimeout: settings.Duration(config.BufferTimeout),
		SortBuffers:   settings.Int(config.SortShuffleMinBuffers),
		Compress:      settings.Bool(config.BatchShuffleCompression),
		Unreachable:   start.Unreachable,
		// The roles decide about a producer whose process is stopped, and about one that is not
		// deployed yet because its TaskExecutor is stopped.
		RequestTimeout: max(start.HeartbeatTimeout, exchange.DefaultRequestTimeout),
	}
	if len(start.Certificates.Key) > 0 {
		identity, err := pki.ParseCertificates(start.Certificates)
		if err != nil {
			return nil, fmt.Errorf("read identity of host %s: %w", start.Host, err)
		}
		data.ServerTLS, data.ClientTLS = identity.ServerTLS(pki.OnlyJob(start.Job.ID)), identity.ClientTLS(pki.OnlyServersOf(start.Job.ID))
	}
	open, err := o.Open(start)
	if err != nil {
		return nil, fmt.Errorf("open files and log of job %s: %w", start.Job.ID, err)
	}
	data.Logger = open.Logger
	if o.DataPlane == nil {
		o.DataPlane = Network
	}
	h := &host{
		start: start, options: o, compiled: compiled,
		cancellation: cancellationFrom(settings),
		rooms:        rooms{counters: msg.TaskCounterRoom(compiled.subtasks()), shown: msg.TaskMetricRoom(compiled.subtasks())},
		open:         open,
		plane:        plane{open: o.DataPlane, config: data},
		stdout:       &lines{to: o.Stdout},
		log:          open.Logger.WithField("job", string(start.Job.ID)).WithField("host", string(start.Host)),
	}
	h.memory.Resize(int64(start.Memory.Managed))
	if _, err := h.plane.begin(ctx, start.Host); err != nil {
		return nil, errors.Join(err, open.CloseFiles())
	}
	return h, nil
}

// settingsOf reads the job's options that concern a host.
func settingsOf(job map[string]string) (config.Config, error) {
	own := make(map[string]string)
	for _, key := range []config.Key{
		config.BufferTimeout, config.TaskCancellationInterval, config.TaskCancellationTimeout,
		config.SortShuffleMinBuffers, config.BatchShuffleCompression,
	} {
		if text, set := job[key.Name()]; set {
			own[key.Name()] = text
		}
	}
	return config.New(config.Layer{Source: "job configuration", Values: own})
}

// compile builds the job and checks that it is the submitted one.
func compile(job msg.JobSpec, program Program) (c Compiled, err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("build job %q: %w: panic: %v", job.Job, ErrPlan, value)
		}
	}()
	c, err = program.Compile(job.Job, job.Args, job.Parallelism, job.Config)
	if err != nil {
		return Compiled{}, fmt.Errorf("build job %q: %w: %w", job.Job, ErrPlan, err)
	}
	if digest := c.Graph.ComputeDigest(); digest != job.Digest {
		return Compiled{}, fmt.Errorf("build job %q: %w: its graph has digest %s, and the submitted graph has %s; "+
			"the plan function must build the same graph each time it runs, and the cluster must run the build that submitted the job",
			job.Job, ErrPlan, digest, job.Digest)
	}
	if len(c.Tasks) != len(c.Graph.Vertices) {
		return Compiled{}, fmt.Errorf("build job %q: %w: %d tasks for %d vertices", job.Job, ErrPlan, len(c.Tasks), len(c.Graph.Vertices))
	}
	return c, nil
}
