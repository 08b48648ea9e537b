package dataflowtest

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow"
	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/dataflow/operator/broker"
)

// channelRecords bounds the records on their way to one consumer.
const channelRecords = 256

// executor implements dataflow.Executor with a goroutine for each subtask. All of
// them end before Execute returns.
type executor struct{ options Options }

// Execute implements dataflow.Executor.
func (e *executor) Execute(ctx context.Context, x dataflow.Execution) (dataflow.ExecutionResult, error) {
	compiled, err := e.compileAgain(x.Graph)
	if err != nil {
		return dataflow.ExecutionResult{}, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	begin := time.Now()
	run := newRun(x, e.options)
	if err := run.openOutputs(ctx); err != nil {
		return dataflow.ExecutionResult{}, err
	}
	var wait sync.WaitGroup
	for v, vertex := range x.Graph.Vertices {
		for i := range vertex.Parallelism {
			wait.Go(func() {
				s := &subtask{run: run, vertex: jobgraph.VertexID(v), index: i}
				s.memory.Resize(e.options.Memory)
				if err := s.execute(ctx, compiled.Tasks[v]); err != nil {
					cancel(fmt.Errorf("%s (%d/%d): %w", vertex.Name, i+1, vertex.Parallelism, err))
				}
			})
		}
	}
	wait.Wait()
	if err := context.Cause(ctx); err != nil {
		return dataflow.ExecutionResult{}, err
	}
	return dataflow.ExecutionResult{JobID: run.job, Duration: time.Since(begin), Counters: run.metrics.sums()}, nil
}

// compileAgain plans the job from its name and arguments, and compares the digests,
// like a task host.
func (e *executor) compileAgain(g jobgraph.JobGraph) (*dataflow.Compiled, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	parallelism, err := strconv.Atoi(g.Config[parallelismOption])
	if err != nil {
		return nil, fmt.Errorf("option %s of the graph: %w", parallelismOption, err)
	}
	compiled, err := dataflow.Compile(g.Job, g.Args, dataflow.PlanOptions{Parallelism: parallelism, Config: g.Config})
	if err != nil {
		return nil, err
	}
	if compiled.Graph.Digest != g.Digest {
		return nil, fmt.Errorf("job %s has digest %s, but planned again it has %s", g.Job, g.Digest, compiled.Graph.Digest)
	}
	return compiled, nil
}

// run is the state that the subtasks of one execution share.
type run struct {
	dataflow.Execution
	options Options
	job     string
	splits  []chan jobgraph.Split // of each vertex; closed
	// channels holds, for each edge, a channel to each consumer subtask. The last
	// producer closes a channel.
	channels map[jobgraph.Edge][]*channel
	wakes    [][]chan struct{} // of each vertex's subtasks: a token says that an input has something new

	metrics *Metrics

	mu sync.Mutex // guards calls of Collected and of the options' Stdout
}

// channel brings the records of all producers to one consumer.
type channel struct {
	records   chan []byte   // of a pipelined edge; nil for a blocking one
	wake      chan struct{} // of the consumer
	producers atomic.Int64  // number of producers that have not ended

	mu   sync.Mutex // guards kept while there are producers
	kept [][]byte   // records of a blocking edge
}

func newRun(x dataflow.Execution, o Options) *run {
	r := &run{
		// Each run gets a new id, so that it does not take an earlier run's output for its own.
		Execution: x, options: o, job: "job-" + rand.Text(),
		channels: map[jobgraph.Edge][]*channel{}, metrics: o.Metrics,
	}
	if r.metrics == nil {
		r.metrics = &Metrics{}
	}
	r.metrics.clear()
	for _, v := range x.Graph.Vertices {
		splits := make(chan jobgraph.Split, len(v.Splits))
		for _, s := range v.Splits {
			splits <- s
		}
		close(splits)
		r.splits = append(r.splits, splits)
		wakes := make([]chan struct{}, v.Parallelism)
		for i := range wakes {
			wakes[i] = make(chan struct{}, 1)
		}
		r.wakes = append(r.wakes, wakes)
	}
	for _, edge := range x.Graph.Edges {
		for _, wake := range r.wakes[edge.To] {
			c := &channel{wake: wake}
			if edge.Kind == jobgraph.Pipelined {
				c.records = make(chan []byte, channelRecords)
			}
			c.producers.Store(int64(x.Graph.Producers(edge)))
			r.channels[edge] = append(r.channels[edge], c)
		}
	}
	return r
}

// epoch is that of the only master.
const epoch = 1

// openOutputs prepares the outputs, as a master does.
func (r *run) openOutputs(ctx context.Context) error {
	for _, v := range r.Graph.Vertices {
		for _, dir := range v.Outputs {
			if err := dataflow.OpenOutput(ctx, r.options.FileSystem, dir, r.job, epoch, dataflow.PartsDropped); err != nil {
				return err
			}
		}
	}
	return nil
}

// subtask implements operator.Subtask.
type subtask struct {
	*run
	vertex jobgraph.VertexID
	index  int
	memory broker.Broker // of its operators
}

// execute runs the task and ends its outputs. A panic becomes an error with its
// stack, so that the test that runs the job reports it.
func (s *subtask) execute(ctx context.Context, task operator.Task) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = fmt.Errorf("panic: %v\n%s", value, debug.Stack())
		}
	}()
	if err := task.Run(ctx, s); err != nil {
		return err
	}
	for _, edge := range s.Graph.Outputs(s.vertex) {
		for _, c := range s.consumers(edge) {
			if c.producers.Add(-1) == 0 {
				c.end()
			}
		}
	}
	return nil
}

// Resources implements operator.Subtask. A slot sharing group with resources has its own.
func (s *subtask) Resources() map[string]int64 {
	if group := s.Graph.SlotGroups()[s.Graph.Vertices[s.vertex].Group]; group.Resources != nil {
		return maps.Clone(group.Resources.External)
	}
	return maps.Clone(s.options.Resources)
}

// consumers returns the channels to which the subtask writes an edge's records.
func (s *subtask) consumers(edge jobgraph.Edge) []*channel {
	if edge.Pattern == jobgraph.Pointwise {
		return s.channels[edge][s.index : s.index+1]
	}
	return s.channels[edge]
}

func (s *subtask) Index() int       { return s.index }
func (s *subtask) Parallelism() int { return s.Graph.Vertices[s.vertex].Parallelism }

func (s *subtask) Attempt() string                   { return fmt.Sprintf("%d-%d-0", s.vertex, s.index) }
func (s *subtask) Job() string                       { return s.job }
func (s *subtask) Epoch() int                        { return epoch }
func (s *subtask) Winners() []string                 { return nil }
func (s *subtask) Inputs() int                       { return len(s.Graph.Inputs(s.vertex)) }
func (s *subtask) Outputs() int                      { return len(s.Graph.Outputs(s.vertex)) }
func (s *subtask) FileSystem() filesystem.FileSystem { return s.options.FileSystem }
func (s *subtask) Stdout() io.Writer                 { return stdout{s.run} }

// Memory implements operator.Subtask. The account ends with the subtask.
func (s *subtask) Memory(least, most int64) operator.Memory {
	account, _ := s.memory.Open(least, most)
	return account
}

// LocalDirs implements operator.Subtask.
func (s *subtask) LocalDirs() []string {
	if len(s.options.LocalDirs) == 0 {
		return []string{os.TempDir()}
	}
	return s.options.LocalDirs
}

// stdout is the writer of print sinks. They write one at a time, so the test's
// Writer need not be safe for concurrent use.
type stdout struct{ *run }

func (s stdout) Write(lines []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.options.Stdout.Write(lines)
}

// Await implements operator.Subtask.
func (s *subtask) Await(ctx context.Context) error {
	select {
	case <-s.wakes[s.vertex][s.index]:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Wake implements operator.Subtask.
func (s *subtask) Wake() { wake(s.wakes[s.vertex][s.index]) }

// PrepareCommit gives leave at once: there is no other master.
func (s *subtask) PrepareCommit(context.Context, []string) error { return nil }

func (s *subtask) PollSplit(context.Context) (jobgraph.Split, bool, error) {
	split, ok := <-s.splits[s.vertex]
	if !ok {
		return split, false, io.EOF
	}
	return split, true, nil
}

func (s *subtask) Input(index int) operator.RecordReader {
	return reader{s.channels[s.Graph.Inputs(s.vertex)[index]][s.index]}
}

func (s *subtask) Output(index int) operator.RecordWriter {
	return writer{s.consumers(s.Graph.Outputs(s.vertex)[index])}
}

func (s *subtask) Collect(_ context.Context, records []byte) error {
	if len(records) > operator.MaxCollectBatch {
		return fmt.Errorf("batch of %d collected bytes", len(records))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Collected(s.Graph.Vertices[s.vertex].Collect, 0, records)
}

func (s *subtask) CachedFile(name string) (string, error) {
	return operator.CachedFiles(s.options.CachedFiles).Path(name)
}

func (s *subtask) Metrics(i int) operator.Metrics {
	return s.metrics.operator(s.Graph.Vertices[s.vertex].Operators[i])
}
