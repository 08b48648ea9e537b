// Package clustertest runs jobs inside a test on a whole cluster in this process, and disturbs the cluster while
// they run: it kills workers and slows tasks. So a test shows that the result of a job survives a failure. For all
// other tests use package dataflowtest, which is faster.
//
// A killed worker ends as in a crash. Nothing that its tasks still do reaches the cluster or the files, but Go
// cannot end a goroutine: a function of the job continues until it returns. The package may be imported only by
// tests. It composes the roles as package bobbin does, and nothing of Bobbin imports it.
package clustertest

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/client/minicluster"
	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/dataflowtest"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Options say how a job runs, and what fails. A zero value means the default.
type Options struct {
	// Files holds the job's files; an empty dataflowtest.NewFiles by default.
	Files *dataflowtest.Files
	// Parallelism applies to operators that set none. The default is 1.
	Parallelism int
	// Workers is the number of workers, 2 by default. The job's slots are divided among them. If one is
	// killed, another starts.
	Workers int
	// Faults are the failures. A job that ends before one of them has happened fails the test.
	Faults []Fault
	// Restarts receives how often tasks of the job were restarted, for assertions. Losses at the same time, of tasks
	// that exchange records, are one restart.
	Restarts *int
	// Stdout receives the output of print sinks. The default is the test's log.
	Stdout io.Writer
	// CachedFiles are the paths of the job's cached files on this machine, by name (Subtask.CachedFile).
	CachedFiles map[string]string
	// Config holds further options by Flink's names.
	Config map[string]string
}

// Run plans and runs a job and returns its result. If the job fails, Run fails the test.
func Run[A any](t testing.TB, job *dataflow.JobDef[A], args A, o Options) *dataflow.Result {
	t.Helper()
	result, err := NewEnv(t, o).Execute(t.Context(), job, args)
	if err != nil {
		t.Fatalf("job %s: %v", job.Name(), err)
	}
	return result
}

// NewEnv makes the environment of a driver whose jobs run in this process, each on a cluster of its own. The
// faults happen in each job. Most tests use Run instead.
func NewEnv(t testing.TB, o Options, args ...string) *dataflow.Env {
	if o.Files == nil {
		o.Files = dataflowtest.NewFiles(nil)
	}
	if o.Workers == 0 {
		o.Workers = 2
	}
	if o.Stdout == nil {
		o.Stdout = t.Output()
	}
	options := maps.Clone(o.Config)
	if options == nil {
		options = map[string]string{}
	}
	options[config.ParallelismDefault.Name()] = strconv.Itoa(max(1, o.Parallelism))
	options[config.LocalTaskManagers.Name()] = strconv.Itoa(o.Workers)
	if len(o.CachedFiles) > 0 {
		options[config.PipelineCachedFiles.Name()] = cachedFiles(o.CachedFiles)
	}
	return dataflow.NewEnv(dataflow.EnvOptions{
		Args: args, Config: options, FileSystem: o.Files, Executor: &executor{t, o, options},
	})
}

// cachedFiles is the option for these paths.
func cachedFiles(paths map[string]string) string {
	quoted := func(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
	var entries []string
	for name, path := range paths {
		entries = append(entries, "name:"+quoted(name)+",path:"+quoted(path))
	}
	slices.Sort(entries)
	return strings.Join(entries, ";")
}

// executor implements dataflow.Executor.
type executor struct {
	t       testing.TB
	options Options
	config  map[string]string
}

// Execute implements dataflow.Executor.
func (e *executor) Execute(ctx context.Context, x dataflow.Execution) (dataflow.ExecutionResult, error) {
	settings, err := config.New(config.Layer{Source: "clustertest.Options", Values: e.config})
	if err != nil {
		return dataflow.ExecutionResult{}, err
	}
	faults, err := arm(e.options.Faults, &x.Graph)
	if err != nil {
		return dataflow.ExecutionResult{}, err
	}
	workers, slots := minicluster.Sizes(settings, x.Graph.Slots())
	silent := logrus.New()
	silent.SetOutput(io.Discard)
	restarts := 0
	result, err := minicluster.Run(ctx, minicluster.Options{
		Config: settings, Workers: workers, Slots: slots, FileSystem: e.options.Files, Stdout: e.options.Stdout, Logger: silent,
		Process: func(w *minicluster.Worker) minicluster.Process {
			return minicluster.Process{Program: program{w, faults}, FileSystem: filesOf(w, e.options.Files)}
		},
	}, x, func(d msg.JobDetails) {
		if d.Restarts > restarts && d.Root != nil {
			e.t.Logf("job %s restarts: %s", x.Graph.Name, d.Root.Failure.Message)
		}
		restarts = d.Restarts
	})
	if e.options.Restarts != nil {
		*e.options.Restarts = restarts
	}
	if err == nil {
		err = errors.Join(faults.missed()...)
	}
	return result, err
}

// filesOf are the files as a worker sees them, until it is killed.
func filesOf(w *minicluster.Worker, files *dataflowtest.Files) *dataflowtest.Files {
	before := files.Fault
	return files.View(func(c dataflowtest.Call) error {
		switch {
		case w.Killed():
			return minicluster.ErrKilled
		case before != nil:
			return before(c)
		}
		return nil
	})
}
