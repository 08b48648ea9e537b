package slotpool

import (
	"fmt"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// offers gives a pool slots, and fails if it refuses one.
func offers(t testing.TB, p *Pool, slots ...Slot) {
	t.Helper()
	for _, s := range slots {
		if !p.Offer(s, start) {
			t.Fatalf("slot %v is refused", s)
		}
	}
}

func expectAt(t *testing.T, p *Pool, want ...ids.AllocationID) {
	t.Helper()
	for i, a := range want {
		if got, _ := p.At(i); got.Allocation != a {
			t.Errorf("shared slot %d is %v, want %q", i, got, a)
		}
	}
}

// TestTheFullestSlotsGoToTheWorkersWithFewTasks would catch a worker with six tasks beside one with two.
func TestTheFullestSlotsGoToTheWorkersWithFewTasks(t *testing.T) {
	t.Parallel()
	p := waiting([]int{0, 1, 2, 3})
	p.Balance([][]int{{3, 3, 1, 1}})
	offers(t, p, Slot{"a", "w1", 0}, Slot{"b", "w1", 0}, Slot{"c", "w2", 0}, Slot{"d", "w2", 0})
	expectStarted(t, p, 0)
	expectAt(t, p, "a", "c", "b", "d")
}

// TestTasksInSlotsThatRunCountFirst would catch a region whose other tasks go to the worker on which a part of it
// already has its slot.
func TestTasksInSlotsThatRunCountFirst(t *testing.T) {
	t.Parallel()
	p := New([][]int{{0}, {2}, {0, 1}, {3}}, make([]int, 4), start)
	p.Balance([][]int{{1}, {1}, {1, 2}, {1}})
	p.SetReady("w1", true)
	p.SetReady("w2", true)
	offers(t, p, Slot{"a", "w1", 0}, Slot{"b", "w1", 0}, Slot{"c", "w2", 0}, Slot{"d", "w2", 0})
	for r := range 3 { // the last one waits for its input
		p.Wait(r)
	}
	expectStarted(t, p, 0, 1, 2)
	expectAt(t, p, "a", "d", "c", "")
}

// TestEndedTasksCountNoMore would catch a worker that gets no tasks because it once had many.
func TestEndedTasksCountNoMore(t *testing.T) {
	t.Parallel()
	p := waiting([]int{0}, []int{1}, []int{2})
	p.Balance([][]int{{9}, {2}, {1}})
	offers(t, p, Slot{"a", "w1", 0}, Slot{"b", "w2", 0}, Slot{"c", "w2", 0})
	expectStarted(t, p, 0, 1, 2)
	expectAt(t, p, "a", "b", "c")
	p.Release(0)
	p.Release(2)
	p.Wait(2)
	expectStarted(t, p, 2)
	expectAt(t, p, "", "b", "a")
}

// A region of 10,000 shared slots starts on 2,500 workers: the time must not grow with their product.
func BenchmarkALargeRegionStartsBalanced(b *testing.B) {
	const workers, each = 2500, 4
	shared, tasks := make([]int, workers*each), make([]int, workers*each)
	for i := range shared {
		shared[i], tasks[i] = i, 1+i%3
	}
	for b.Loop() {
		p := New([][]int{shared}, make([]int, len(shared)), start)
		p.Balance([][]int{tasks})
		for i := range shared {
			w := ids.ResourceID(fmt.Sprintf("w%d", i/each))
			offers(b, p, Slot{ids.AllocationID(fmt.Sprint(i)), w, 0})
			p.SetReady(w, true)
		}
		p.Wait(0)
		if len(p.Assign()) != 1 {
			b.Fatal("the region does not start")
		}
	}
}
