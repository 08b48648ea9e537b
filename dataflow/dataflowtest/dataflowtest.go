// Package dataflowtest runs jobs inside a test: every subtask is a goroutine, every
// exchange a set of bounded channels, and the files may lie in memory. Elements are
// encoded, partitioned and decoded as on a cluster. So a job that passes here has
// working codecs and a deterministic plan. The package does not test recovery: the
// first error ends the run, and nothing is restarted.
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

// Files is an in-memory file system for a job's input and output.
type Files = memfs.FS

// Call describes one call of an in-memory file system. The fault function of
// Files.View receives it.
type Call = memfs.Call

// NewFiles makes an in-memory file system with these files. The map holds the
// content by path.
func NewFiles(content map[string]string) *Files { return memfs.New(content) }

// Options say how a job runs. A zero value means the default.
type Options struct {
	// FileSystem holds the job's files; an empty NewFiles by default.
	FileSystem filesystem.FileSystem
	// Parallelism applies to operators that set none. The default is 1.
	Parallelism int
	// Memory bounds the state and buffers of one subtask's operators, in bytes. The
	// default is 256 MiB.
	Memory int64
	// LocalDirs are the directories for temporary files. The default is that of the operating system.
	LocalDirs []string
	// Resources are the external resources of subtasks whose slot sharing group has no
	// resources of its own.
	Resources map[string]int64
	// Stdout receives the output of print sinks, one Write at a time. The default
	// is the test's log.
	Stdout io.Writer
	// CachedFiles are the paths of the job's cached files, by name (Subtask.CachedFile).
	CachedFiles map[string]string
	// Metrics receives the metrics of the run, for assertions.
	Metrics *Metrics
	// Config holds further options by Flink's names.
	Config map[string]string
}

// Run plans and runs a job and returns its result. If the job fails, Run fails the
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

// NewEnv makes the environment of a driver whose jobs run in this process. Most
// tests use Run instead.
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
