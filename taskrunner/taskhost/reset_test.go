package taskhost_test

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/taskhost"
)

// TestAResetHostRunsTheJobAnew would catch: a report about a task of before the reset after it, a task that the reset
// does not end, a connection of another host that reaches the wrong tasks, and an end of the data plane that is left
// behind (the package's tests look for goroutines).
func TestAResetHostRunsTheJobAnew(t *testing.T) {
	const each = 1000
	blocked := make(chan struct{}, 2)
	p := chain([]int{2, 2}, func(ctx context.Context, s operator.Subtask) error {
		for n := range each {
			if err := s.Output(0).Emit(ctx, n%2, []byte{byte(n)}); err != nil {
				return err
			}
		}
		if strings.Contains(s.Attempt(), "-a0") { // the first attempt of each subtask does not end by itself
			blocked <- struct{}{}
			return untilCancelled(ctx, s)
		}
		return nil
	}, drain)
	a, b := newWorker(t, "a-1", p).ready(), newWorker(t, "b-1", p).ready()
	deploy(p, a, b)
	<-blocked
	<-blocked
	a.running(2)
	b.running(2)
	before := a.data

	a.reset("a-2")
	a.ready() // fails the test if the host says anything about its tasks
	if a.data == before {
		t.Errorf("the host takes new connections where other hosts know the earlier tasks: %s", before)
	}
	// Another host, which is not reset yet, has lost its peer.
	lost := b.final()
	if lost.State != msg.ExecutionFailed || lost.Failure.PeerLost != "a-1" {
		t.Errorf("task %s is %s: %+v, want one that has lost host a-1", lost.Execution, lost.State, lost.Failure)
	}
	b.reset("b-2")
	for b.data = ""; b.data == ""; { // what the host has said before the reset may come first
		m, err := b.conn.Receive()
		if err != nil {
			t.Fatal(err)
		}
		if ready, is := m.(msg.HostReady); is && ready.Host == "b-2" {
			b.data = ready.DataAddress
		}
	}

	deployAttempt(1, p, a, b)
	for _, w := range []*worker{a, b} {
		for range 2 {
			m := w.final()
			if m.State != msg.ExecutionFinished || m.Execution.Attempt != 1 {
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

// TestAStuckTaskEndsAHostThatIsReset would catch a host that waits for ever for a task of a JobMaster that is gone.
func TestAStuckTaskEndsAHostThatIsReset(t *testing.T) {
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
	<-begun
	w.reset("h2")
	if lost := receive[msg.HostLost](w); !strings.Contains(lost.Failure.Message, "still runs 1ms after it was cancelled") {
		t.Errorf("host is lost by %q", lost.Failure.Message)
	}
	w.end(taskhost.ErrTaskStuck)
	close(release)
	<-released
}

// TestAResetHostKeepsItsMemory would catch a host whose buffers have the size of its start again after a reset.
func TestAResetHostKeepsItsMemory(t *testing.T) {
	p := chain([]int{1}, untilCancelled)
	w := newWorker(t, "h1", p).ready()
	w.send(msg.SetMemory{Memory: memory.Slot{Network: 8 << 20}})
	w.reset("h2")
	w.ready()
	w.stop()
	if sizes := w.buffers.seen; sizes[len(sizes)-1] != 8<<20 {
		t.Errorf("the buffers have %d bytes one after the other, want 8 MB in the end", sizes)
	}
}

// TestAHostWithoutADataPlaneEnds would catch a host that is never ready again, and says nothing.
func TestAHostWithoutADataPlaneEnds(t *testing.T) {
	w := newWorker(t, "h1", chain([]int{1}, untilCancelled)).ready()
	w.refuse.Store(true)
	w.reset("h2")
	if lost := receive[msg.HostLost](w); !strings.Contains(lost.Failure.Message, "task host cannot be reset: "+syscall.EMFILE.Error()) {
		t.Errorf("host is lost by %q", lost.Failure.Message)
	}
	if err := <-w.result; err == nil || errors.Is(err, taskhost.ErrAbandoned) {
		t.Errorf("host ends with %v", err)
	}
}
