// Package operator is the seam between the SDK and the task host: the SDK
// compiles a plan into one Task per vertex, the host runs each of its subtasks
// with a Context that gives it splits, input, output and the file system.
//
// The package holds interfaces and plain data only.
package operator

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// Task is the code of one vertex: a chain of operators.
type Task interface {
	// Run executes one subtask from its first record to its last, in the
	// calling goroutine, and keeps all its state to itself: one Task serves all
	// subtasks and attempts. It returns when all input is consumed and all
	// output written, or with the first error; a cancelled ctx ends it with
	// ctx's cause. Panics of user code pass through.
	Run(ctx context.Context, s Subtask) error
}

// Subtask is what a running subtask sees of the host. It belongs to the
// goroutine that runs the task.
type Subtask interface {
	// Index is this subtask's number, 0 ≤ Index < Parallelism.
	Index() int
	// Parallelism is the number of subtasks of the vertex.
	Parallelism() int
	// Attempt names this execution of the subtask, as no other of the job ever
	// was, whatever ApplicationMaster ran it: it may stand in a path.
	Attempt() string
	// Job is the job's id.
	Job() string
	// NextSplit asks the JobMaster for the next split of a source vertex;
	// io.EOF when there is none left.
	NextSplit(ctx context.Context) (jobgraph.Split, error)
	// Input is the reader of the input with this index.
	Input(index int) RecordReader
	// Inputs is the number of inputs.
	Inputs() int
	// Output is the writer of the output with this index.
	Output(index int) RecordWriter
	// Outputs is the number of outputs.
	Outputs() int
	// Collect hands a batch of records, each with a uvarint length before it,
	// to the client; it blocks while the client is slow. At most
	// MaxCollectBatch bytes.
	Collect(ctx context.Context, records []byte) error
	// FileSystem reaches the job's files.
	FileSystem() filesystem.FileSystem
	// Stdout is where print sinks write: the worker's stdout, or the terminal
	// in local mode. Each Write must hold whole lines.
	Stdout() io.Writer
	// Counter gives the job's counter of this name, summed over subtasks. Look
	// it up once, not per record.
	Counter(name string) *Counter
	// Memory is the number of bytes that this subtask's operators may hold in
	// state and buffers of their own.
	Memory() int64
}

// MaxCollectBatch bounds one call of Subtask.Collect, in bytes.
const MaxCollectBatch = 256 << 10

// RecordReader reads the records of one input, from all its producers in turn.
// One goroutine at a time uses it; a task may read each input from another.
type RecordReader interface {
	// Next gives the next record, which is valid until the next call; io.EOF
	// after the end of data of every producer.
	Next(ctx context.Context) ([]byte, error)
}

// RecordWriter writes records to the channels of one output. It copies what it
// is given and blocks while the consumer has no room.
type RecordWriter interface {
	// Channels is the number of consumer subtasks.
	Channels() int
	// Emit appends a record to a channel, 0 ≤ channel < Channels.
	Emit(ctx context.Context, channel int, record []byte) error
	// Flush sends what is buffered in all channels. The host flushes and ends
	// the output itself when the task returns without error.
	Flush(ctx context.Context) error
}

// Counter is a job-wide sum. It may be used from any goroutine.
type Counter struct{ value atomic.Int64 }

// Add adds n, which may be negative.
func (c *Counter) Add(n int64) { c.value.Add(n) }

// Value is this subtask's part of the sum.
func (c *Counter) Value() int64 { return c.value.Load() }
