package dataflow

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// Env is the environment of a driver: its arguments, its options and a way to execute
// jobs. Only one goroutine at a time may use it.
type Env struct {
	options    EnvOptions
	executions int // jobs that were handed to the executor
	accepted   int // jobs that the cluster has accepted
}

// EnvOptions are the parts of an Env.
type EnvOptions struct {
	Args       []string          // the program's own arguments
	Config     map[string]string // options by Flink's names; without parallelism.default, the default is 1
	FileSystem filesystem.FileSystem
	Executor   Executor
	// Accepted is the number of jobs of an earlier run of the driver that the cluster has accepted. Execute hands these to
	// the Executor without a look at their inputs and outputs: the inputs may be gone, and the outputs may be there.
	Accepted int
	// Listing is called each second while a job's input is listed, with the number of
	// files found so far. It may be nil.
	Listing func(files int)
}

// Executor runs planned jobs on a cluster.
type Executor interface {
	// Execute submits a job and waits for its end. A detached executor waits only until
	// the cluster has accepted the job. If the job fails or is cancelled, the error names
	// the root cause. Beside an error, only JobID is set, and only if the cluster has accepted the job.
	Execute(ctx context.Context, x Execution) (ExecutionResult, error)
}

// ErrNotPrepared says that the cluster does not have the job of an Execution that is not prepared.
var ErrNotPrepared = errors.New("the cluster does not have this job, and cannot run it without its inputs and outputs")

// Execution is a job that an Executor is to run.
type Execution struct {
	Graph jobgraph.JobGraph
	// Unprepared is true if the Graph has neither inputs nor outputs. The Executor then only continues with a job that the
	// cluster has accepted from an earlier run of the driver. If the cluster has no such job, the error is ErrNotPrepared.
	Unprepared bool
	// Collected receives the batches of collect sinks, with the sink's name. A batch
	// holds whole records, each after its length as a uvarint. The calls come in order,
	// one at a time, until Execute returns. The first batch of a new epoch, which may be
	// empty, replaces all earlier batches of the same name. An error from Collected ends
	// the job.
	Collected func(name string, epoch int, records []byte) error
}

// ExecutionResult is the result of a job that finished, or of one that runs detached.
type ExecutionResult struct {
	JobID    string
	Detached bool // the cluster has accepted the job; there is no result yet
	Duration time.Duration
	Counters map[string]int64
}

// NewEnv makes an Env. Only code that starts drivers needs it.
func NewEnv(o EnvOptions) *Env { return &Env{options: o} }

// Args returns the program's own arguments, without its name.
func (e *Env) Args() []string { return e.options.Args }

// Option returns the value of the option with this name, or "".
func (e *Env) Option(name string) string { return e.options.Config[name] }

// Executions counts the jobs that were handed to the executor.
func (e *Env) Executions() int { return e.executions }

const optionDefaultParallelism = "parallelism.default"

// Execute plans a job with these arguments, runs it, waits for its end and returns its
// result. If the job is submitted detached, Execute returns as soon as the cluster has
// accepted it. A driver may call Execute several times if the cluster takes more than one
// job.
func (e *Env) Execute(ctx context.Context, job Executable, args any) (*Result, error) {
	encoded, err := job.encode(args)
	if err != nil {
		return nil, err
	}
	parallelism, err := e.parallelism()
	if err != nil {
		return nil, err
	}
	compiled, err := Compile(job.Name(), encoded, PlanOptions{Parallelism: parallelism, Config: e.options.Config})
	if err != nil {
		return nil, err
	}
	result := &Result{collected: map[string]collected{}}
	ended, err := e.execute(ctx, compiled, result)
	if err != nil {
		return nil, err
	}
	result.JobID, result.Detached = ended.JobID, ended.Detached
	result.Duration, result.Counters = ended.Duration, maps.Clone(ended.Counters)
	return result, nil
}

// execute runs a planned job. As long as the cluster may have the job from an earlier run of the driver, execute prepares it
// only if the cluster asks for that.
func (e *Env) execute(ctx context.Context, compiled *Compiled, into *Result) (ExecutionResult, error) {
	if e.accepted < e.options.Accepted {
		ended, err := e.run(ctx, Execution{Graph: compiled.Graph, Unprepared: true, Collected: into.collect})
		if !errors.Is(err, ErrNotPrepared) {
			e.executions++
			return ended, err
		}
	}
	graph, err := compiled.Prepare(ctx, e.options.FileSystem, e.options.Listing)
	if err != nil {
		return ExecutionResult{}, fmt.Errorf("plan job %s: %w", compiled.Graph.Job, err)
	}
	e.executions++
	return e.run(ctx, Execution{Graph: graph, Collected: into.collect})
}

func (e *Env) run(ctx context.Context, x Execution) (ExecutionResult, error) {
	ended, err := e.options.Executor.Execute(ctx, x)
	if ended.JobID != "" {
		e.accepted++
	}
	return ended, err
}

func (e *Env) parallelism() (int, error) {
	text, ok := e.options.Config[optionDefaultParallelism]
	if !ok {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > jobgraph.MaxParallelism {
		return 0, fmt.Errorf("option %s is %q: it must be a number between 1 and %d", optionDefaultParallelism, text, jobgraph.MaxParallelism)
	}
	return n, nil
}
