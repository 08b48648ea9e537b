package taskhost_test

import (
	"context"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestOperatorsDivideTheMemoryOfTheSlots would catch a host whose operators have the memory of its first slot for ever: in a larger host
// they write files without need, and in a smaller one they hold what belongs to other hosts.
func TestOperatorsDivideTheMemoryOfTheSlots(t *testing.T) {
	ask, shares := make(chan struct{}), make(chan int64)
	p := chain([]int{1}, func(_ context.Context, s operator.Subtask) error {
		account := s.Memory(1<<20, 0)
		for range ask {
			shares <- account.Share()
		}
		return nil
	})
	w := newWorker(t, "h1", p).ready()
	deploy(p, w)
	w.running(1)
	want := int64(w.start.Memory.Managed)
	for _, next := range []int64{30 << 20, 5 << 20, 0} { // the last one is not asked for
		ask <- struct{}{}
		if got := <-shares; got != want {
			t.Errorf("the operator may hold %d bytes, want %d", got, want)
		}
		w.send(msg.SetMemory{Memory: memory.Slot{Heap: 90 << 20, Managed: config.Bytes(next), Network: 4 << 20}})
		w.send(msg.Heartbeat{})
		receive[msg.Heartbeat](w) // the host has taken the message before it
		want = next
	}
	close(ask)
	if m := w.final(); m.State != msg.ExecutionFinished {
		t.Errorf("task is %s: %v", m.State, m.Failure)
	}
	w.stop()
}
