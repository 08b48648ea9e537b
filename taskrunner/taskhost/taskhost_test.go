package taskhost_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/control"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

// emitSplits is a source whose records are the URIs of its splits, spread over
// the consumers.
func emitSplits(ctx context.Context, s operator.Subtask) error {
	for n := 0; ; n++ {
		split, err := operator.NextSplit(ctx, s)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		s.Metrics(0).Counter("splits").Add(1)
		if err := s.Output(0).Emit(ctx, n%s.Output(0).Channels(), []byte(split.Base)); err != nil {
			return err
		}
	}
}

// collectAll sends its input to the client and prints it.
func collectAll(ctx context.Context, s operator.Subtask) error {
	for {
		record, err := operator.NextRecord(ctx, s, 0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(s.Stdout(), "%d> %s\n", s.Index()+1, record)
		if err := s.Collect(ctx, record); err != nil {
			return err
		}
	}
}

// forward passes its input on.
func forward(ctx context.Context, s operator.Subtask) error {
	for {
		record, err := operator.NextRecord(ctx, s, 0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := s.Output(0).Emit(ctx, 0, record); err != nil {
			return err
		}
	}
}

// drain counts its input.
func drain(ctx context.Context, s operator.Subtask) error {
	for {
		_, err := operator.NextRecord(ctx, s, 0)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		s.Metrics(0).Counter("read").Add(1)
	}
}

// untilCancelled waits for its context.
func untilCancelled(ctx context.Context, _ operator.Subtask) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// TestJobRunsInAHost would catch any fault between a task and its host: splits, records, results,
// print, counters, traffic, memory.
func TestJobRunsInAHost(t *testing.T) {
	limits := make(chan int64, 1)
	p := chain([]int{1, 1, 1}, emitSplits, forward, func(ctx context.Context, s operator.Subtask) error {
		limits <- s.Memory(1<<20, 0).Share()
		return collectAll(ctx, s)
	})
	w := newWorker(t, "h1", p).ready()
	deploy(p, w)
	w.running(3)
	source := execution(0, 0)
	for _, uri := range []string{"a", "bb"} {
		if m := receive[msg.RequestSplit](w); m.Execution != source {
			t.Fatalf("split for %s", m.Execution)
		}
		w.send(msg.SplitAssigned{Execution: source, Split: &jobgraph.Split{Base: uri}})
	}
	receive[msg.RequestSplit](w)
	w.send(msg.SplitAssigned{Execution: source})

	var collected []string
	final := make(map[ids.ExecutionAttemptID]msg.TaskStateChange)
	for len(final) < 3 {
		m, err := w.conn.Receive()
		if err != nil {
			t.Fatal(err)
		}
		switch m := m.(type) {
		case msg.CollectBatch:
			if m.Sequence != int64(len(collected)) {
				t.Errorf("batch %d comes as number %d", m.Sequence, len(collected))
			}
			collected = append(collected, string(m.Records))
			if _, ended := final[m.Execution]; ended {
				t.Error("a batch comes after the end of its task")
			}
			w.send(msg.CollectAcknowledged{Execution: m.Execution, Sequence: m.Sequence})
		case msg.TaskStatesChanged:
			for _, change := range m.Changes {
				final[change.Execution] = change
			}
		}
	}
	want := map[ids.ExecutionAttemptID]msg.TaskStateChange{
		source: {
			Execution: source, State: msg.ExecutionFinished, Counters: map[string]int64{"splits": 2},
			Metrics: msg.TaskMetrics{Traffic: msg.Traffic{WriteRecords: 2, WriteBytes: 5}},
			User:    &msg.UserMetrics{Metrics: []msg.UserMetric{{Kind: metrics.KindCounter, Name: "splits", Value: 2}}},
		},
		execution(1, 0): {
			Execution: execution(1, 0), State: msg.ExecutionFinished, Counters: map[string]int64{},
			Metrics: msg.TaskMetrics{Traffic: msg.Traffic{ReadRecords: 2, ReadBytes: 5, WriteRecords: 2, WriteBytes: 5}},
		},
		execution(2, 0): {
			Execution: execution(2, 0), State: msg.ExecutionFinished, Counters: map[string]int64{},
			Metrics: msg.TaskMetrics{Traffic: msg.Traffic{ReadRecords: 2, ReadBytes: 5}},
		},
	}
	timing := cmp.Options{cmpopts.IgnoreFields(msg.TaskMetrics{}, "Activity"), cmpopts.IgnoreFields(msg.Traffic{}, "ReadBuffers", "WriteBuffers")}
	if diff := cmp.Diff(want, final, timing); diff != "" {
		t.Errorf("final states differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "bb"}, collected); diff != "" {
		t.Errorf("results differ (-want +got):\n%s", diff)
	}
	w.send(msg.SetMemory{Memory: memory.Slot{Heap: 300 << 20, Network: 8 << 20}})
	w.stop()
	if got, want := w.stdout.String(), "1> a\n1> bb\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	if got := <-limits; got != 10<<20 {
		t.Errorf("task may hold %d bytes, want 10 MB", got)
	}
	if want := []int64{104 << 20, 308 << 20}; !slices.Equal(w.limits.seen, want) || !slices.Equal(w.buffers.seen, []int64{4 << 20, 8 << 20}) {
		t.Errorf("memory limits are %v, want %v; those of buffers are %v", w.limits.seen, want, w.buffers.seen)
	}
	if !*w.closed {
		t.Error("files are left open")
	}
}

// TestTokensAreUsedAsTheyCome would catch a job that fails when its first tokens expire, or after
// one failed update.
func TestTokensAreUsedAsTheyCome(t *testing.T) {
	w := newWorker(t, "h1", chain([]int{1}, func(context.Context, operator.Subtask) error { return nil })).ready()
	for _, want := range []string{"second", "malformed", "third"} {
		w.send(msg.UpdateTokens{Tokens: msg.Secret(want)})
		if got := <-w.tokens; got != want {
			t.Errorf("files are to use tokens %q, want %q", got, want)
		}
	}
	w.stop()
}

// TestHostsOfAJobExchangeRecords would catch hosts that do not find or do not trust each other.
func TestHostsOfAJobExchangeRecords(t *testing.T) {
	authority, err := pki.NewAuthority("application_1_0001", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	identity := func(container ids.ResourceID) func(*msg.StartHost) {
		te, err := authority.IssueTaskExecutor(container, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		host, err := te.IssueTaskHost("j", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		certificates, err := host.Certificates()
		if err != nil {
			t.Fatal(err)
		}
		return func(s *msg.StartHost) { s.Certificates = certificates }
	}
	const each = 1000
	p := chain([]int{2, 2}, func(ctx context.Context, s operator.Subtask) error {
		for n := range each {
			if err := s.Output(0).Emit(ctx, n%2, []byte{byte(n)}); err != nil {
				return err
			}
		}
		return nil
	}, drain)
	a, b := newWorker(t, "a", p, identity("c1")).ready(), newWorker(t, "b", p, identity("c2")).ready()
	deploy(p, a, b)
	for _, w := range []*worker{a, b} {
		for range 2 {
			m := w.final()
			if m.State != msg.ExecutionFinished {
				t.Errorf("task %s is %s: %v", m.Execution, m.State, m.Failure)
			}
			if m.Execution.Vertex == 1 && m.Counters["read"] != each {
				t.Errorf("task %s reads %d records, want %d", m.Execution, m.Counters["read"], each)
			}
		}
	}
	a.stop()
	b.stop()
}

// explode panics in the runtime.
func explode(words []string) string { return words[0] }

// follow does so too.
func follow(p *int) int { return *p }

// TestPanicFailsTheTask would catch a host that dies of a bug in user code, a stack that does
// not show this bug, and a panic that does not say at which line of the input it came.
func TestPanicFailsTheTask(t *testing.T) {
	for name, test := range map[string]struct {
		code     taskFunc
		message  string
		in       string // first function of the stack
		hasStack bool
	}{
		"a panic of the runtime": {
			func(context.Context, operator.Subtask) error { explode(nil); return nil },
			"panic: runtime error: index out of range [0] with length 0", "taskhost_test.explode", true,
		},
		"a panic with a value": {
			func(context.Context, operator.Subtask) error { panic(fmt.Errorf("bad word %q", "x")) },
			`panic: bad word "x"`, "taskhost_test.TestPanicFailsTheTask.func", true,
		},
		"a nil dereference": {
			func(context.Context, operator.Subtask) error { follow(nil); return nil },
			"panic: runtime error: invalid memory address or nil pointer dereference", "taskhost_test.follow", true,
		},
		"a panic at a line of the input": {
			func(_ context.Context, s operator.Subtask) error {
				s.(operator.Locator).Locate(func() string { return "reading /clicks, the line at byte 7" })
				panic("odd line")
			},
			"panic: odd line\nreading /clicks, the line at byte 7", "taskhost_test.TestPanicFailsTheTask.func", true,
		},
		"a panic between two lines": {
			func(_ context.Context, s operator.Subtask) error {
				s.(operator.Locator).Locate(func() string { return "" })
				panic("odd line")
			},
			"panic: odd line", "taskhost_test.TestPanicFailsTheTask.func", true,
		},
		"the end of the goroutine": {
			func(context.Context, operator.Subtask) error { runtime.Goexit(); return nil },
			"the task's code called runtime.Goexit; return an error instead", "", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := chain([]int{1, 1}, test.code, untilCancelled)
			w := newWorker(t, "h1", p).ready()
			deploy(p, w)
			m := w.final()
			if m.Execution != execution(0, 0) || m.State != msg.ExecutionFailed || m.Failure == nil {
				t.Fatalf("task %s is %s", m.Execution, m.State)
			}
			if m.Failure.Message != test.message || m.Failure.Permanent || m.Failure.PeerLost != "" {
				t.Errorf("failure is %+v, want %q", m.Failure, test.message)
			}
			first, _, _ := strings.Cut(m.Failure.Stack, "\n")
			if !strings.Contains(first, test.in) || (m.Failure.Stack != "") != test.hasStack || strings.Contains(m.Failure.Stack, "(*task)") {
				t.Errorf("stack begins with %q, want %q; all of it:\n%s", first, test.in, m.Failure.Stack)
			}
			w.send(msg.CancelTasks{Executions: []ids.ExecutionAttemptID{execution(1, 0)}}) // the host lives
			if m := w.final(); m.State != msg.ExecutionCanceled {
				t.Errorf("task %s is %s, want CANCELED", m.Execution, m.State)
			}
			w.stop()
		})
	}
}

// TestTasksFindTheirFiles would catch a task without the files of its job, and a job that restarts although
// it will never have the file.
func TestTasksFindTheirFiles(t *testing.T) {
	p := chain([]int{1}, func(_ context.Context, s operator.Subtask) error {
		if path, err := s.CachedFile("cities"); path != "/copies/1/cities.csv" || err != nil {
			return fmt.Errorf("the file is at %s: %w", path, err)
		}
		_, err := s.CachedFile("towns")
		panic(err)
	})
	w := newWorker(t, "h1", p, func(s *msg.StartHost) {
		s.Files = map[string]string{"cities": "/copies/1/cities.csv", "zones": "/copies/2/zones.csv"}
	}).ready()
	deploy(p, w)
	const want = `panic: job has no cached file of this name: "towns": it has cities, zones; set pipeline.cached-files`
	if m := w.final(); m.State != msg.ExecutionFailed || m.Failure.Message != want || !m.Failure.Permanent || m.Failure.Stack == "" {
		t.Errorf("task is %s: %+v, want %q for good", m.State, m.Failure, want)
	}
	w.stop()
}

// producerFails is a job whose producer fails with err while its consumer reads.
func producerFails(err error) program {
	connected := make(chan struct{})
	return chain([]int{1, 1}, func(ctx context.Context, s operator.Subtask) error {
		if err := s.Output(0).Emit(ctx, 0, []byte("x")); err != nil {
			return err
		}
		<-connected
		return err
	}, func(ctx context.Context, s operator.Subtask) error {
		if _, err := operator.NextRecord(ctx, s, 0); err != nil {
			return err
		}
		close(connected)
		return drain(ctx, s)
	})
}

// TestFailuresSayWhoseTheyAre would catch a job that restarts without need, and a root cause that
// is hidden behind its consequences.
func TestFailuresSayWhoseTheyAre(t *testing.T) {
	changed := errors.New("file changed")
	p := producerFails(fmt.Errorf("read split: %w", operator.Permanent(changed)))
	w := newWorker(t, "h1", p).ready()
	deploy(p, w)
	for range 2 {
		m := w.final()
		if m.State != msg.ExecutionFailed {
			t.Fatalf("task %s is %s, want FAILED", m.Execution, m.State)
		}
		switch m.Execution.Vertex {
		case 0:
			if !m.Failure.Permanent || m.Failure.PeerLost != "" || m.Failure.Message != "read split: file changed" {
				t.Errorf("producer's failure is %+v", m.Failure)
			}
		case 1:
			if m.Failure.Permanent || m.Failure.PeerLost != "h1" {
				t.Errorf("consumer's failure is %+v, want the loss of a peer", m.Failure)
			}
		}
	}
	w.stop()
}

// reluctant is an error that returns its text at once the first time, and later only when it is
// allowed to.
type reluctant struct {
	asked *atomic.Int32
	may   chan struct{}
}

func (r reluctant) Error() string {
	if r.asked.Add(1) > 1 {
		<-r.may
	}
	return "file changed"
}

// TestAFailureIsToldBeforeItsConsequences would catch a consumer that reports the loss of its
// producer first. The producer is then cancelled, its own failure is never reported, and a job that
// can only fail restarts. The text is read once to report the failure and once to tell the
// consumer. The second reader waits here until a failure was reported.
func TestAFailureIsToldBeforeItsConsequences(t *testing.T) {
	failure := reluctant{asked: new(atomic.Int32), may: make(chan struct{})}
	p := producerFails(operator.Permanent(failure))
	w := newWorker(t, "h1", p).ready()
	deploy(p, w)
	first := w.final()
	close(failure.may)
	if first.Execution.Vertex != 0 || first.Failure == nil || !first.Failure.Permanent {
		t.Errorf("told first: task %s is %s: %v, want the producer's failure", first.Execution, first.State, first.Failure)
	}
	if second := w.final(); second.Failure == nil || second.Failure.PeerLost != "h1" {
		t.Errorf("told next: task %s is %s: %v, want the consumer's loss of its producer", second.Execution, second.State, second.Failure)
	}
	w.stop()
}

// TestHostRefusesAnotherPlan would catch a program that runs another graph than the submitted one.
func TestHostRefusesAnotherPlan(t *testing.T) {
	other := func(s *msg.StartHost) { s.Job.Digest = "other" }
	broken := chain([]int{1}, untilCancelled)
	broken.err = errors.New("no such job")
	short := chain([]int{1}, untilCancelled)
	short.tasks = nil
	right := chain([]int{1}, untilCancelled)
	for name, test := range map[string]struct {
		program program
		change  func(*msg.StartHost)
		want    []string
	}{
		"another digest": {right, other, []string{"digest " + right.graph.Digest, "the submitted graph has other", "same graph each time"}},
		"no such job":    {broken, func(*msg.StartHost) {}, []string{"no such job"}},
		"missing tasks":  {short, func(*msg.StartHost) {}, []string{"0 tasks for 1 vertices"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorker(t, "h1", test.program, test.change)
			lost := receive[msg.HostLost](w)
			if lost.Host != "h1" || !lost.Failure.Permanent {
				t.Errorf("host is lost by %+v, want a permanent failure", lost)
			}
			for _, part := range test.want {
				if !strings.Contains(lost.Failure.Message, part) {
					t.Errorf("failure %q does not say %q", lost.Failure.Message, part)
				}
			}
			w.end(taskhost.ErrPlan)
		})
	}
}

// TestBadOptionIsNamed would catch a host that runs with other options than the job's.
func TestBadOptionIsNamed(t *testing.T) {
	p := chain([]int{1}, untilCancelled)
	w := newWorker(t, "h1", p, func(s *msg.StartHost) {
		s.Job.Config = map[string]string{"task.cancellation.timeout": "soon"}
	})
	if lost := receive[msg.HostLost](w); !strings.Contains(lost.Failure.Message, "task.cancellation.timeout") {
		t.Errorf("failure %q does not name the option", lost.Failure.Message)
	}
	if err := <-w.result; err == nil {
		t.Error("host ends well")
	}
}

// TestHostEndsWithItsTaskExecutor would catch a host that outlives the process
// that started it.
func TestHostEndsWithItsTaskExecutor(t *testing.T) {
	cause := make(chan error, 1)
	p := chain([]int{1}, func(ctx context.Context, s operator.Subtask) error {
		err := untilCancelled(ctx, s)
		cause <- err
		return err
	})
	w := newWorker(t, "h1", p).ready()
	deploy(p, w)
	w.running(1)
	w.conn.Close()
	w.end(taskhost.ErrAbandoned)
	if err := <-cause; err == nil || err.Error() != "task is cancelled" {
		t.Errorf("the task's context ends with %v, and consumers are told so", err)
	}
}

// TestHostWithoutAJobEnds would catch a host that waits for a TaskExecutor that is gone or does not
// need it.
func TestHostWithoutAJobEnds(t *testing.T) {
	for name, test := range map[string]struct {
		instead func(*control.Conn) error
		want    error
	}{
		"stopped":   {func(c *control.Conn) error { return c.Send(msg.StopHost{}) }, nil},
		"abandoned": {func(c *control.Conn) error { return c.Close() }, taskhost.ErrAbandoned},
	} {
		t.Run(name, func(t *testing.T) {
			w := greeted(t.Context(), t, chain([]int{1}, untilCancelled))
			if err := test.instead(w.conn); err != nil {
				t.Fatal(err)
			}
			w.end(test.want)
		})
	}
}

// TestHostEndsWithItsContext would catch local mode that cannot be interrupted.
func TestHostEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	cause := make(chan error, 1)
	p := chain([]int{1}, func(ctx context.Context, s operator.Subtask) error {
		err := untilCancelled(ctx, s)
		cause <- err
		return err
	})
	w := newWorkerIn(ctx, t, "h1", p).ready()
	deploy(p, w)
	w.running(1)
	cancel(interrupted)
	w.end(interrupted)
	if err := <-cause; !errors.Is(err, interrupted) {
		t.Errorf("the task's context ends with %v, want %v", err, interrupted)
	}
}

// TestStuckTaskEndsTheHost would catch a cancelled job whose endless loop keeps its slot for ever,
// and an error that does not show the loop.
func TestStuckTaskEndsTheHost(t *testing.T) {
	begun, release, released := make(chan struct{}), make(chan struct{}), make(chan struct{})
	p := chain([]int{1}, func(context.Context, operator.Subtask) error {
		defer close(released)
		close(begun)
		<-release // ignores its context
		return nil
	})
	w := newWorker(t, "h1", p, func(s *msg.StartHost) {
		s.Job.Config = map[string]string{"task.cancellation.timeout": "1 ms"}
	}).ready()
	deploy(p, w)
	w.running(1)
	<-begun // RUNNING is reported before the task runs
	w.send(msg.CancelTasks{Executions: []ids.ExecutionAttemptID{execution(0, 0)}})
	lost := receive[msg.HostLost](w)
	if !strings.Contains(lost.Failure.Message, "task v (1/1), execution e1-v0-s0-a0, still runs 1ms after it was cancelled (task.cancellation.timeout)") ||
		!strings.Contains(lost.Failure.Stack, "TestStuckTaskEndsTheHost") {
		t.Errorf("host is lost by %q, at\n%s", lost.Failure.Message, lost.Failure.Stack)
	}
	w.end(taskhost.ErrTaskStuck)
	close(release)
	<-released
}

// TestTheLogShowsAStuckTask would catch a cancelled task that runs on without a trace, and a
// timeout of 0 that ends the host.
func TestTheLogShowsAStuckTask(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	p := chain([]int{1}, func(context.Context, operator.Subtask) error {
		close(begun)
		<-release // ignores its context
		return nil
	})
	w := newWorker(t, "h1", p, func(s *msg.StartHost) {
		s.Job.Config = map[string]string{"task.cancellation.timeout": "0", "task.cancellation.interval": "1 ms"}
	}).ready()
	shown := make(chan *logrus.Entry, 1)
	w.log.AddHook(warnings(shown))
	deploy(p, w)
	w.running(1)
	<-begun
	w.send(msg.CancelTasks{Executions: []ids.ExecutionAttemptID{execution(0, 0)}})
	for range 3 {
		entry := <-shown
		stack, _ := entry.Data["stack"].(string)
		if !strings.HasPrefix(entry.Message, "task v (1/1) still runs") || entry.Data["execution"] != "e1-v0-s0-a0" || !strings.Contains(stack, "TestTheLogShowsAStuckTask") {
			t.Errorf("log has %q %v", entry.Message, entry.Data)
		}
	}
	close(release)
	if m := w.final(); m.State != msg.ExecutionCanceled {
		t.Errorf("task is %s, want CANCELED", m.State)
	}
	w.send(msg.StopHost{})
	w.end(nil)
}

// warnings takes the warnings of a log; others are lost while it is full.
type warnings chan *logrus.Entry

func (warnings) Levels() []logrus.Level { return []logrus.Level{logrus.WarnLevel} }

func (c warnings) Fire(e *logrus.Entry) error {
	select {
	case c <- e:
	default:
	}
	return nil
}

// TestStoppedHostReportsItsTasks would catch a slot that is freed while tasks run.
func TestStoppedHostReportsItsTasks(t *testing.T) {
	p := chain([]int{2}, untilCancelled)
	w := newWorker(t, "h1", p).ready()
	deploy(p, w)
	w.running(2)
	w.send(msg.StopHost{Cause: "job is cancelled"})
	for range 2 {
		if m := w.final(); m.State != msg.ExecutionCanceled || m.Failure != nil {
			t.Errorf("task %s is %s: %v, want CANCELED", m.Execution, m.State, m.Failure)
		}
	}
	w.end(nil)
}

// TestResultsAreDeliveredBeforeTheEnd would catch a task that is FINISHED while
// the JobMaster may still lose its results.
func TestResultsAreDeliveredBeforeTheEnd(t *testing.T) {
	const batches = 9
	p := chain([]int{1}, func(ctx context.Context, s operator.Subtask) error {
		if err := s.Collect(ctx, make([]byte, operator.MaxCollectBatch+1)); err == nil {
			return errors.New("too large a batch is taken")
		}
		record := []byte{0}
		for n := range batches {
			record[0] = byte(n) // Collect keeps no part of it
			if err := s.Collect(ctx, record); err != nil {
				return err
			}
		}
		return nil
	})
	w := newWorker(t, "h1", p).ready()
	deploy(p, w)
	w.running(1)
	for n := range batches {
		m := receive[msg.CollectBatch](w) // must not be the end of the task
		if m.Sequence != int64(n) || m.Records[0] != byte(n) {
			t.Fatalf("batch %d holds %v, want %d", m.Sequence, m.Records, n)
		}
		if n >= 3 { // four are on their way
			w.send(msg.CollectAcknowledged{Execution: execution(0, 0), Sequence: int64(n - 3)})
		}
	}
	w.send(msg.CollectAcknowledged{Execution: execution(0, 0), Sequence: batches - 1})
	if m := w.final(); m.State != msg.ExecutionFinished {
		t.Errorf("task is %s: %v", m.State, m.Failure)
	}
	w.stop()
}

// TestCountersHaveABound would catch a task with data in the names of its counters: 65,536 names of
// any length went to the JobMaster in one message before anything checked them.
func TestCountersHaveABound(t *testing.T) {
	for name, c := range map[string]struct {
		after func(context.Context) error // what the code does when it has counted
		names int
		want  string // "": the task finishes
	}{
		"as many as the JobMaster takes": {func(context.Context) error { return nil }, 63, ""},
		"more":                           {func(context.Context) error { return nil }, 1 << 16, "task has more than 63 counters, and a task of this job may have 64 KiB of counters with their names; use fewer counters with shorter names"},
		"more, in code that ends with its context": {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, 64, "no data in the names"},
	} {
		p := chain([]int{1}, func(ctx context.Context, s operator.Subtask) error {
			for n := range c.names {
				s.Metrics(0).Counter(fmt.Sprintf("%920d", n)).Add(1)
			}
			return c.after(ctx)
		})
		w := newWorker(t, "h1", p).ready()
		deploy(p, w)
		w.running(1)
		m := w.final()
		if c.want == "" {
			if m.State != msg.ExecutionFinished || len(m.Counters) != c.names {
				t.Errorf("%s: the task is %s with %d counters: %v", name, m.State, len(m.Counters), m.Failure)
			}
		} else if m.State != msg.ExecutionFailed || !strings.Contains(m.Failure.Message, c.want) || !m.Failure.Permanent || len(m.Counters) > 63 {
			t.Errorf("%s: the task is %s with %d counters: %+v, want %q", name, m.State, len(m.Counters), m.Failure, c.want)
		}
		w.stop()
	}
}

// TestProgressIsTold would catch a REST API that shows no progress until a task has ended.
func TestProgressIsTold(t *testing.T) {
	p := chain([]int{1, 1}, func(ctx context.Context, s operator.Subtask) error {
		if err := s.Output(0).Emit(ctx, 0, []byte("x")); err != nil {
			return err
		}
		s.Metrics(0).Histogram("length").Update(7)
		return untilCancelled(ctx, s)
	}, drain)
	w := newWorker(t, "h1", p).ready()
	deploy(p, w)
	w.running(2)
	m, err := w.conn.Receive()
	if err != nil {
		t.Fatal(err)
	}
	if progress, is := m.(msg.TasksProgress); !is || len(progress.Tasks) != 2 ||
		progress.Tasks[0].Metrics.WriteRecords+progress.Tasks[1].Metrics.WriteRecords != 1 {
		t.Errorf("host says %+v, want progress", m)
	} else if reads := progress.Tasks[1].Metrics; reads.Now != msg.TaskIdle || reads.Idle == 0 {
		t.Errorf("the task that waits for input does this: %+v", reads.Activity)
	} else if user := progress.Tasks[0].User; user == nil || user.Metrics[0].Name != "length" || user.Metrics[0].Summary.P50 != 7 {
		t.Errorf("the metrics of the code are %+v, want its histogram", user)
	} else if user := progress.Tasks[1].User; user == nil || user.Metrics[0].Name != "read" || user.Metrics[0].Value != 1 {
		t.Errorf("the metrics of the code are %+v, want its counter", user)
	}
	w.send(msg.Heartbeat{})
	if beat := receive[msg.Heartbeat](w); beat.Pool == nil || beat.Pool.Total == 0 {
		t.Errorf("the heartbeat has %+v, want the buffers of the host", beat.Pool)
	} else if beat.Managed == nil || beat.Managed.Total != 10<<20 {
		t.Errorf("the heartbeat has %+v, want the memory of the host's operators", beat.Managed)
	}
	w.conn.Close()
	w.end(taskhost.ErrAbandoned)
}
