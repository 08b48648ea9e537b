// Package dataflowtest runs jobs inside a test: every subtask is a goroutine,
// every exchange a set of bounded channels, and the files may lie in memory.
// Elements are encoded, partitioned and decoded as on a cluster, so that a job
// which passes here has working codecs and a deterministic plan. What it does not
// show is failure: the first error ends the run, and nothing is restarted.
package dataflowtest

import (
	"io"
	"maps"
	"strconv"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/memfs"
)

// Files is a file system in memory, for a job's input and output.
type Files = memfs.FS

// Call is one call of a file system in memory, as the fault function of
// Files.View sees it.
type Call = memfs.Call

// NewFiles makes a file system with these files, content by path.
func NewFiles(content map[string]string) *Files { return memfs.New(content) }

// Options say how a job is run. Zero values take the defaults.
type Options struct {
	// FileSystem holds the job's files; an empty NewFiles by default.
	FileSystem filesystem.FileSystem
	// Parallelism is that of operators which set none, 1 by default.
	Parallelism int
	// Memory is what the operators of one subtask may hold, in bytes; 256 MiB by
	// default.
	Memory int64
	// Stdout takes what print sinks write, in one call at a time; the test's log by
	// default.
	Stdout io.Writer
	// Config holds further options by Flink's names.
	Config map[string]string
}

// Run plans and runs a job and gives its result. A job that fails, fails the
// test.
func Run[A any](t testing.TB, job *dataflow.JobDef[A], args A, o Options) *dataflow.Result {
	t.Helper()
	if o.Stdout == nil {
		o.Stdout = t.Output()
	}
	result, err := NewEnv(o).Execute(t.Context(), job, args)
	if err != nil {
		t.Fatalf("job %s: %v", job.Name(), err)
	}
	return result
}

// NewEnv makes the environment of a driver whose jobs run in this process; see
// Run for the usual case.
func NewEnv(o Options, args ...string) *dataflow.Env {
	if o.FileSystem == nil {
		o.FileSystem = NewFiles(nil)
	}
	if o.Memory == 0 {
		o.Memory = 256 << 20
	}
	if o.Stdout == nil {
		o.Stdout = io.Discard
	}
	config := maps.Clone(o.Config)
	if config == nil {
		config = map[string]string{}
	}
	config[parallelismOption] = strconv.Itoa(max(1, o.Parallelism))
	return dataflow.NewEnv(dataflow.EnvOptions{
		Args: args, Config: config, FileSystem: o.FileSystem, Executor: &executor{options: o},
	})
}

const parallelismOption = "parallelism.default"
