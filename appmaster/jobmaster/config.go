package jobmaster

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/commitrecord"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/failover"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/slowtask"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Config describes a JobMaster and its job. Begin with Configured.
type Config struct {
	Job       ids.JobID
	JobMaster ids.JobMasterID    // fencing token of this grant
	Epoch     ids.Epoch          // of the master; the attempts of tasks name it
	Graph     *jobgraph.JobGraph // valid; never changed
	Program   msg.Program        // the program with the job's code
	Restart   failover.Settings  // restart-strategy.*
	// FailoverStrategy is jobmanager.execution.failover-strategy: failover.RestartRegion or
	// failover.RestartAll.
	FailoverStrategy string
	// ExceptionHistory is web.exception-history-size: the number of root causes that are kept.
	ExceptionHistory int
	// AttemptsHistory is jobmanager.execution.attempts-history-size: the number of earlier attempts that each task keeps.
	AttemptsHistory int
	// BalanceTasks says that taskmanager.load-balance.mode is TASKS.
	BalanceTasks bool
	Seed         uint64    // for jitter
	Submitted    time.Time // since then the job is INITIALIZING, unless it was taken over; zero: since its start
	// Parallelism is the default that the plan was made with.
	Parallelism int
	// ResultBytes bounds the records that are held of each collected result: see collect.New.
	ResultBytes int
	// KeepRead says that records stay when the client has read them, as far as ResultBytes allow.
	KeepRead bool

	// Recovered has the records that earlier masters of the job have stored through Commits, by region. Only the commit
	// tasks of these regions run.
	Recovered map[int]commitrecord.Record

	// TakenOver is when this master took the job over from an earlier one, which may have run it. Then the job may hold slots
	// of that time. Zero: there was none.
	TakenOver time.Time

	// LogSlots lets the job describe its slots each minute, for the log at debug level.
	LogSlots bool

	HeartbeatInterval  time.Duration // heartbeat.interval
	HeartbeatTimeout   time.Duration // heartbeat.timeout
	SlotRequestTimeout time.Duration // slot.request.timeout
	SlotIdleTimeout    time.Duration // slot.idle.timeout
	// RecoveryTimeout is execution.batch.job-recovery.previous-worker.recovery.timeout: how long after the start of the JobMaster a
	// job that was taken over waits for workers of earlier masters.
	RecoveryTimeout time.Duration
	// Waves says that all exchanges may be made blocking if the cluster has too few slots: execution.batch-shuffle-mode is
	// AUTOMATIC.
	Waves       bool
	Speculation Speculation
	// ClientTimeout is client.heartbeat.timeout. If no client asks for the job for this time while
	// a task waits for a client to read its collected records, the records are dropped.
	ClientTimeout time.Duration
	// CancellationTimeout is task.cancellation.timeout: a host ends if a cancelled task runs there for longer. 0: it does not.
	CancellationTimeout time.Duration
}

// Speculation are the options execution.batch.speculative.* and slow-task-detector.*.
type Speculation struct {
	Enabled   bool
	Attempts  int           // .max-concurrent-executions
	BlockTime time.Duration // .block-slow-node-duration
	Slow      slowtask.Settings
}

// related are the options of a job that must keep an order. In a session, the client puts all of
// its options into the job. Options for containers have no effect there, whatever their relation to
// the options of the session.
var related = []config.Key{ //nolint:gochecknoglobals // a constant table
	config.HeartbeatInterval, config.HeartbeatTimeout, config.ClientHeartbeatInterval, config.ClientHeartbeatTimeout,
	config.ExponentialInitialBackoff, config.ExponentialMaxBackoff,
}

// Configured gives the part of a Config that options decide: options of the job override those of
// the cluster. The error wraps config.ErrInvalid if an option has an invalid value, or contradicts
// another option of the job or the cluster.
func Configured(cluster config.Config, g *jobgraph.JobGraph) (Config, error) {
	c, err := cluster.With(config.Layer{Source: "job " + g.Name, Values: g.Config})
	if err == nil {
		err = config.ValidateAmong(c, related...)
	}
	if err != nil {
		return Config{}, err
	}
	return Config{
		Graph:              g,
		ResultBytes:        collect.MaxBuffered,
		Restart:            failover.Configured(c),
		FailoverStrategy:   c.String(config.FailoverStrategy),
		ExceptionHistory:   c.Int(config.ExceptionHistorySize),
		AttemptsHistory:    c.Int(config.AttemptsHistorySize),
		BalanceTasks:       config.LoadBalance(c) == config.BalanceTasks,
		Parallelism:        c.Int(config.ParallelismDefault),
		HeartbeatInterval:  c.Duration(config.HeartbeatInterval),
		HeartbeatTimeout:   c.Duration(config.HeartbeatTimeout),
		SlotRequestTimeout: c.Duration(config.SlotRequestTimeout),
		SlotIdleTimeout:    c.Duration(config.SlotIdleTimeout),
		RecoveryTimeout:    c.Duration(config.PreviousWorkerTimeout),
		Waves:              c.String(config.BatchShuffleMode) == config.ShuffleAutomatic,
		Speculation: Speculation{
			Enabled:   c.Bool(config.SpeculativeEnabled),
			Attempts:  c.Int(config.SpeculativeAttempts),
			BlockTime: c.Duration(config.SpeculativeBlockTime),
			Slow:      slowtask.Configured(c),
		},
		ClientTimeout:       c.Duration(config.ClientHeartbeatTimeout),
		CancellationTimeout: c.Duration(config.TaskCancellationTimeout),
	}, nil
}

// Validate reports all faults at once.
func (c Config) Validate() error {
	var faults []error
	if c.Job == "" || c.JobMaster == "" {
		faults = append(faults, errors.New("job and job master need ids"))
	}
	if c.Graph == nil {
		faults = append(faults, errors.New("job needs a graph"))
	} else if err := c.Graph.Validate(); err != nil {
		faults = append(faults, err)
	}
	for i, v := range c.vertices() {
		if v.Collect != "" && slices.ContainsFunc(c.vertices()[:i], func(other jobgraph.Vertex) bool { return other.Collect == v.Collect }) {
			faults = append(faults, fmt.Errorf("two vertices collect a result named %q; give each its own name", v.Collect))
		}
	}
	return errors.Join(append(faults, config.Check(
		config.ExceptionHistorySize.Is(c.ExceptionHistory),
		config.AttemptsHistorySize.Is(c.AttemptsHistory),
		config.HeartbeatInterval.Is(c.HeartbeatInterval),
		config.HeartbeatTimeout.Is(c.HeartbeatTimeout),
		config.SlotRequestTimeout.Is(c.SlotRequestTimeout),
		config.SlotIdleTimeout.Is(c.SlotIdleTimeout),
		config.TaskCancellationTimeout.Is(c.CancellationTimeout),
		config.ClientHeartbeatTimeout.Is(c.ClientTimeout),
	))...)
}

func (c Config) vertices() []jobgraph.Vertex {
	if c.Graph == nil {
		return nil
	}
	return c.Graph.Vertices
}
