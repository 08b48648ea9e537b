package taskhost

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"sync"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// subtask is the host as a task's code sees it. It belongs to the task's goroutine, except for the
// parts that the loop uses.
type subtask struct {
	execution   ids.ExecutionAttemptID
	parallelism int
	job         ids.JobID
	memory      int64
	resources   map[string]int64
	files       *countedFiles
	cached      operator.CachedFiles
	stdout      io.Writer
	post        func(context.Context, event) error

	inputs  []InputGate
	outputs []ResultPartition

	// splits has the loop's answers to NextSplit. At most one request is open, so the loop never
	// waits.
	splits    chan *jobgraph.Split
	requested bool
	exhausted bool
	// leave has the answer to PrepareCommit. The loop never waits.
	leave   chan struct{}
	winners []string
	// window holds a token for each batch that is not acknowledged. The loop takes tokens out.
	window chan struct{}

	counterRoom int               // msg.TaskCounterRoom of the job
	fail        func(cause error) // ends the task's context

	mu          sync.Mutex // guards what follows
	counters    map[string]*operator.Counter
	counterSize int   // of all counters
	excess      error // why the task fails though its code may return no error
}

var _ operator.Subtask = (*subtask)(nil)

func (s *subtask) Index() int                         { return s.execution.Subtask }
func (s *subtask) Parallelism() int                   { return s.parallelism }
func (s *subtask) Attempt() string                    { return s.execution.String() }
func (s *subtask) Job() string                        { return string(s.job) }
func (s *subtask) Epoch() int                         { return int(s.execution.Epoch) }
func (s *subtask) Winners() []string                  { return s.winners }
func (s *subtask) Input(i int) operator.RecordReader  { return s.inputs[i] }
func (s *subtask) Inputs() int                        { return len(s.inputs) }
func (s *subtask) Output(i int) operator.RecordWriter { return s.outputs[i] }
func (s *subtask) Outputs() int                       { return len(s.outputs) }
func (s *subtask) FileSystem() filesystem.FileSystem  { return s.files }
func (s *subtask) Stdout() io.Writer                  { return s.stdout }
func (s *subtask) Memory() int64                      { return s.memory }
func (s *subtask) Resources() map[string]int64        { return maps.Clone(s.resources) }

// CachedFile returns the path of the worker's copy.
func (s *subtask) CachedFile(name string) (string, error) { return s.cached.Path(name) }

// NextSplit may be interrupted by its ctx and called again: the second call gets the answer to the
// first request.
func (s *subtask) NextSplit(ctx context.Context) (jobgraph.Split, error) {
	if s.exhausted {
		return jobgraph.Split{}, io.EOF
	}
	if !s.requested {
		if err := s.post(ctx, splitRequested{s.execution}); err != nil {
			return jobgraph.Split{}, fmt.Errorf("request split for task %s: %w", s.execution, err)
		}
		s.requested = true
	}
	split, err := sched.Receive(ctx, s.splits)
	if err != nil {
		return jobgraph.Split{}, err
	}
	s.requested = false
	if split == nil {
		s.exhausted = true
		return jobgraph.Split{}, io.EOF
	}
	return *split, nil
}

// PrepareCommit asks the JobMaster once. The answer may take as long as HDFS.
func (s *subtask) PrepareCommit(ctx context.Context, winners []string) error {
	if err := s.post(ctx, commitPrepared{s.execution, winners}); err != nil {
		return fmt.Errorf("ask for leave to commit in task %s: %w", s.execution, err)
	}
	_, err := sched.Receive(ctx, s.leave)
	return err
}

// giveLeave lets PrepareCommit return; the loop calls it. It drops an answer that is repeated.
func (s *subtask) giveLeave() {
	select {
	case s.leave <- struct{}{}:
	default:
	}
}

func (s *subtask) Collect(ctx context.Context, records []byte) error {
	if len(records) > operator.MaxCollectBatch {
		return fmt.Errorf("collect batch of %d bytes in task %s: the limit is %d bytes", len(records), s.execution, operator.MaxCollectBatch)
	}
	if err := s.enterWindow(ctx); err != nil {
		return err
	}
	if err := s.post(ctx, collected{s.execution, bytes.Clone(records)}); err != nil {
		return fmt.Errorf("collect records of task %s: %w", s.execution, err)
	}
	return nil
}

// assign answers the open request; the loop calls it. It drops an answer without a request.
func (s *subtask) assign(split *jobgraph.Split) {
	select {
	case s.splits <- split:
	default:
	}
}

// acknowledge removes n batches from the window; the loop calls it.
func (s *subtask) acknowledge(n int) {
	for range n {
		select {
		case <-s.window:
		default:
		}
	}
}

// collectedAll waits until every batch is acknowledged.
func (s *subtask) collectedAll(ctx context.Context) error {
	for range msg.CollectWindow {
		if err := s.enterWindow(ctx); err != nil {
			return err
		}
	}
	return nil
}

// enterWindow waits for room in the window, and takes it.
func (s *subtask) enterWindow(ctx context.Context) error {
	return sched.Send(ctx, s.window, struct{}{})
}

// Counter fails the task if the JobMaster has no room for its counters. The counters that have no
// room are not kept.
func (s *subtask) Counter(name string) *operator.Counter {
	s.mu.Lock()
	defer s.mu.Unlock()
	counter := s.counters[name]
	if counter != nil {
		return counter
	}
	counter = new(operator.Counter)
	if s.excess != nil {
		return counter
	}
	s.counterSize += msg.CounterSize(name)
	if s.counterSize > s.counterRoom {
		s.excess = operator.Permanent(fmt.Errorf("task has more than %d counters, and a task of this job may have %d KiB of counters with their names; %s",
			len(s.counters), s.counterRoom>>10, msg.FewerCounters))
		s.fail(s.excess)
		return counter
	}
	s.counters[name] = counter
	return counter
}

// exceeded says why the task fails although its code may return no error, or gives nil.
func (s *subtask) exceeded() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.excess
}

func (s *subtask) counts() map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := make(map[string]int64, len(s.counters))
	for name, counter := range s.counters {
		counts[name] = counter.Value()
	}
	return counts
}
