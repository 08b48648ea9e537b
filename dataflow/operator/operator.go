// Package operator is the interface between the SDK and the task host. The SDK
// compiles a plan into one Task per vertex. The host runs each subtask of the
// Task and passes it a Subtask, which provides splits, input, output and the
// file system.
//
// The package holds interfaces, plain data, and the metrics of user code.
package operator

import (
	"context"
	"io"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// Task is the code of one vertex: a chain of operators.
type Task interface {
	// Run executes one subtask from its first record to its last, in the
	// calling goroutine. All state belongs to the call, because one Task serves
	// all subtasks and attempts. Run returns when it has read all input and
	// written all output, or with the first error. If ctx is cancelled, it
	// returns ctx's cause. Run does not recover panics of user code.
	Run(ctx context.Context, s Subtask) error
}

// Subtask is the host's interface to a running subtask. Only the goroutine that
// runs the task may use it, except Wake.
type Subtask interface {
	// Index is this subtask's number, 0 ≤ Index < Parallelism.
	Index() int
	// Parallelism is the number of subtasks of the vertex.
	Parallelism() int
	// Attempt is the name of this execution of the subtask. It is unique in the
	// job, also across attempts of the ApplicationMaster, and may be used in a
	// path.
	Attempt() string
	// Job is the job's id.
	Job() string
	// Epoch is the term of the master that runs the task; see package output.
	Epoch() int
	// Winners are what a task of a commit has to commit, because an earlier attempt got leave for them; nil: the task
	// finds out, and asks for leave.
	Winners() []string
	// PrepareCommit reports what the task is about to commit, and waits for leave. Then every later attempt has the same
	// winners.
	PrepareCommit(ctx context.Context, winners []string) error
	// PollSplit gives the next split of a source vertex, and does not wait. The first call asks the JobMaster for it; found is
	// false until the answer has come. The error is io.EOF when no split is left.
	PollSplit(ctx context.Context) (split jobgraph.Split, found bool, err error)
	// Await waits until an input or PollSplit may have something new. It may return too early, so poll again. The time in it
	// counts as idle. If ctx is cancelled, it returns ctx's cause.
	Await(ctx context.Context) error
	// Wake makes Await return. Any goroutine may call it, also after the end of the task, and it does not wait.
	Wake()
	// Input is the reader of the input with this index.
	Input(index int) RecordReader
	// Inputs is the number of inputs.
	Inputs() int
	// Output is the writer of the output with this index.
	Output(index int) RecordWriter
	// Outputs is the number of outputs.
	Outputs() int
	// Collect sends a batch of records to the client, each after its length as
	// a uvarint. A batch has at most MaxCollectBatch bytes. Collect blocks
	// while the client is slow.
	Collect(ctx context.Context, records []byte) error
	// FileSystem is the file system of the job's input and output.
	FileSystem() filesystem.FileSystem
	// Stdout is the output of print sinks: the worker's stdout, or the terminal
	// in local mode. Each Write must hold whole lines.
	Stdout() io.Writer
	// Metrics are the metrics of the operator with this index in the vertex,
	// 0 ≤ operator < len(jobgraph.Vertex.Operators).
	Metrics(operator int) Metrics
	// CachedFile returns the path of the job's cached file of this name on this
	// machine; see CachedFiles.Path.
	CachedFile(name string) (path string, err error)
	// Memory opens an account for the state and buffers of one operator. It may always hold least bytes, and never more than most;
	// 0 is no bound. The host closes it at the end of the task.
	Memory(least, most int64) Memory
	// LocalDirs are the directories for temporary files of the subtask, one on each disk that it may use; at least one. Files
	// there do not outlive the worker.
	LocalDirs() []string
	// Resources are the amounts of external resources, such as GPUs, of the
	// subtask's slot, by their names in the option external-resources. Subtasks in
	// one slot share them. The default slots of a worker share those of the whole
	// worker. The caller may change the map.
	Resources() map[string]int64
}

// Memory is what one operator may hold for its state and buffers. All operators of a process share its managed memory by need, and no
// call waits. An operator that is refused writes state to files. Only the goroutine that runs the task may use it.
type Memory interface {
	// Take reserves bytes, or returns false and reserves nothing.
	Take(bytes int64) bool
	// Give returns bytes that Take reserved.
	Give(bytes int64)
	// NoMore says that the operator takes no more, and only gives back what it holds: Take returns false from now on. So the
	// others get the rest while the operator emits what it has. More calls do nothing.
	NoMore()
	// Share is an equal part of the memory, in bytes, but for what others cannot use because of their bounds. An operator that goes
	// on asking gets it in the end. It changes as operators come and go.
	Share() int64
	// Total is all the memory that the operators of the process share, in bytes. No operator gets more, also in a later attempt.
	Total() int64
	// Excess is what the operator should give back, in bytes, because it holds more than its share and others need it.
	Excess() int64
}

// Observer is a Subtask that watches the elements of its operators. Only tests use one.
type Observer interface {
	Subtask
	// Observe returns the function that the task calls before an operator takes an element, or before a
	// source passes one on. The task fails with its error, and the operator does not get the element. nil
	// means that the operator is not observed.
	Observe(ctx context.Context, operator string) func() error
}

// Locator is a Subtask that says with the panic of a task where its source was in the input.
type Locator interface {
	Subtask
	// Locate takes the function that tells this: "reading hdfs://…/part-0, the line at byte 1200", or "" if the source reads nothing
	// then. The task's own goroutine calls it, after a panic. A task with several sources keeps the last one.
	Locate(at func() string)
}

// MaxCollectBatch bounds one call of Subtask.Collect, in bytes.
const MaxCollectBatch = 256 << 10

// Item is what comes next in an input: a record, or what stands between records. Watermarks and the barriers of checkpoints will
// be further items.
type Item uint8

const (
	// Nothing says that nothing has come. Subtask.Await waits for more.
	Nothing Item = iota
	// Record is an element of the stream.
	Record
	// EndOfData says that every producer has ended its data. Nothing follows.
	EndOfData
)

// RecordReader reads the records of one input, from all its producers in turn. Only the goroutine that runs the task may use it.
type RecordReader interface {
	// Poll gives what comes next, and does not wait. A record is valid until the next call.
	Poll() (item Item, record []byte, err error)
}

// RecordWriter writes records to the channels of one output. It copies each
// record and blocks while the consumer has no room.
type RecordWriter interface {
	// Channels is the number of consumer subtasks.
	Channels() int
	// Emit appends a record to a channel, 0 ≤ channel < Channels.
	Emit(ctx context.Context, channel int, record []byte) error
	// Flush sends the buffered records of all channels. When the task returns
	// without error, the host flushes and ends the output itself.
	Flush(ctx context.Context) error
}
