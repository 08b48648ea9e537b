package dataflow

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// Env is what a driver sees of the place it runs in: its arguments, its options
// and something that executes jobs. It is used by one goroutine at a time.
type Env struct {
	options    EnvOptions
	executions int
}

// EnvOptions make an Env.
type EnvOptions struct {
	Args       []string          // the program's own arguments
	Config     map[string]string // options by Flink's names; parallelism.default is 1 where it is missing
	FileSystem filesystem.FileSystem
	Executor   Executor
	// Listing hears each second, while the input of a job is listed, how many files were
	// found; nil: nobody does.
	Listing func(files int)
}

// Executor runs planned jobs on some cluster.
type Executor interface {
	// Execute submits a job and waits for its end or, where the cluster is used
	// detached, until it runs. A job that does not finish is an error, which
	// tells the root cause.
	Execute(ctx context.Context, x Execution) (ExecutionResult, error)
}

// Execution is a job to be run.
type Execution struct {
	Graph jobgraph.JobGraph
	// Collected takes the batches of collect sinks, by the sinks' names: whole
	// records, each with a uvarint length before it. It is called in order, one
	// call at a time, until Execute returns. A batch of a new epoch, which may be
	// empty, voids what came under the name before. An error ends the job's
	// execution.
	Collected func(name string, epoch int, records []byte) error
}

// ExecutionResult is how a job ended well.
type ExecutionResult struct {
	JobID    string
	Detached bool // the job runs; there is no result yet
	Duration time.Duration
	Counters map[string]int64
}

// NewEnv makes an Env. Only what brings drivers and clusters together needs it.
func NewEnv(o EnvOptions) *Env { return &Env{options: o} }

// Args gives the program's own arguments, without its name.
func (e *Env) Args() []string { return e.options.Args }

// Option gives the option with this name, or "".
func (e *Env) Option(name string) string { return e.options.Config[name] }

// Executions counts the jobs that were handed to the executor.
func (e *Env) Executions() int { return e.executions }

const optionDefaultParallelism = "parallelism.default"

// Execute plans a job with these arguments, runs it, and gives its result when
// it is done; on a detached cluster it returns as soon as the job runs. It may be
// called again and again, where the cluster takes more than one job.
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
	graph, err := compiled.Prepare(ctx, e.options.FileSystem, e.options.Listing)
	if err != nil {
		return nil, fmt.Errorf("plan job %s: %w", job.Name(), err)
	}
	result := &Result{collected: map[string]collected{}}
	e.executions++
	ended, err := e.options.Executor.Execute(ctx, Execution{Graph: graph, Collected: result.collect})
	if err != nil {
		return nil, err
	}
	result.JobID, result.Detached = ended.JobID, ended.Detached
	result.Duration, result.Counters = ended.Duration, maps.Clone(ended.Counters)
	return result, nil
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
