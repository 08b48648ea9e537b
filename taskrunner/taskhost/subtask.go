package taskhost

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/dataflow/operator/broker"
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
	broker      *broker.Broker
	accounts    []*broker.Account // of the task's operators
	overdrawn   func()            // called when operators may hold more than there is
	resources   map[string]int64
	localDirs   []string
	files       *countedFiles
	cached      operator.CachedFiles
	stdout      io.Writer
	post        func(context.Context, event) error

	inputs  []InputGate
	outputs []ResultPartition

	// wake has a token if an input, splits or the source has something new. Nobody waits to put it there.
	wake chan struct{}
	// splits has the loop's answers to PollSplit. At most one request is open, so the loop never
	// waits.
	splits    chan *jobgraph.Split
	requested bool
	exhausted bool
	// leave has the answer to PrepareCommit. The loop never waits.
	leave   chan struct{}
	winners []string
	// window holds a token for each batch that is not acknowledged. The loop takes tokens out.
	window chan struct{}

	activity *activity
	metrics  *userMetrics
	at       func() string // where the source is in its input; nil: it does not tell
}

var _ operator.Locator = (*subtask)(nil)

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
func (s *subtask) LocalDirs() []string                { return s.localDirs }
func (s *subtask) Resources() map[string]int64        { return maps.Clone(s.resources) }
func (s *subtask) Metrics(i int) operator.Metrics     { return operatorMetrics{s.metrics, i} }

// Memory implements operator.Subtask.
func (s *subtask) Memory(least, most int64) operator.Memory {
	account, fits := s.broker.Open(least, most)
	if !fits {
		s.overdrawn()
	}
	s.accounts = append(s.accounts, account)
	return account
}

// closeMemory closes the accounts, when the task's code has ended.
func (s *subtask) closeMemory() {
	for _, account := range s.accounts {
		account.Close()
	}
}

// Locate implements operator.Locator.
func (s *subtask) Locate(at func() string) { s.at = at }

// CachedFile returns the path of the worker's copy.
func (s *subtask) CachedFile(name string) (string, error) { return s.cached.Path(name) }

// PollSplit has one request open at a time.
func (s *subtask) PollSplit(ctx context.Context) (split jobgraph.Split, found bool, err error) {
	if s.exhausted {
		return jobgraph.Split{}, false, io.EOF
	}
	if !s.requested {
		if err := s.post(ctx, splitRequested{s.execution}); err != nil {
			return jobgraph.Split{}, false, fmt.Errorf("request split for task %s: %w", s.execution, err)
		}
		s.requested = true
	}
	select {
	case assigned := <-s.splits:
		s.requested = false
		if assigned == nil {
			s.exhausted = true
			return jobgraph.Split{}, false, io.EOF
		}
		return *assigned, true, nil
	default:
		return jobgraph.Split{}, false, nil
	}
}

// Await implements operator.Subtask.
func (s *subtask) Await(ctx context.Context) error {
	select {
	case <-s.wake:
		return nil
	default:
	}
	defer s.idles()()
	_, err := sched.Receive(ctx, s.wake)
	return err
}

// Wake implements operator.Subtask.
func (s *subtask) Wake() { offer(s.wake, struct{}{}) }

// idles says that the task waits for input from now on, until the result is called.
func (s *subtask) idles() (resume func()) {
	waits := s.activity.forInput()
	waits.Wait()
	return waits.Resume
}

// PrepareCommit asks the JobMaster once. The answer may take as long as HDFS.
func (s *subtask) PrepareCommit(ctx context.Context, winners []string) error {
	if err := s.post(ctx, commitPrepared{s.execution, winners}); err != nil {
		return fmt.Errorf("ask for leave to commit in task %s: %w", s.execution, err)
	}
	defer s.idles()()
	_, err := sched.Receive(ctx, s.leave)
	return err
}

// giveLeave lets PrepareCommit return; the loop calls it. It drops an answer that is repeated.
func (s *subtask) giveLeave() { offer(s.leave, struct{}{}) }

// offer puts a value into a channel if there is room, and drops it otherwise.
func offer[T any](c chan<- T, v T) {
	select {
	case c <- v:
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
	offer(s.splits, split)
	offer(s.wake, struct{}{})
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
	select {
	case s.window <- struct{}{}:
		return nil
	default:
	}
	waits := s.activity.forConsumers()
	waits.Wait()
	defer waits.Resume()
	return sched.Send(ctx, s.window, struct{}{})
}
