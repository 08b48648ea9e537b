package slotpool

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func TestSlotsFillSharedSlotsInOrder(t *testing.T) {
	t.Parallel()
	p := New(2, start)
	a, b, c := Slot{"a", "w1"}, Slot{"b", "w2"}, Slot{"c", "w2"}
	if !p.Offer(a, at(1)) || !p.Offer(b, at(2)) {
		t.Error("a slot that is needed was refused")
	}
	if p.Offer(c, at(3)) {
		t.Error("a slot too many was taken")
	}
	if !p.Offer(a, at(3)) {
		t.Error("a slot that is held was refused when it was offered again")
	}
	if p.Offer(Slot{"a", "w9"}, at(3)) {
		t.Error("a slot that one worker holds was taken from another")
	}
	if diff := cmp.Diff([]Slot{a, b}, p.Slots()); diff != "" {
		t.Errorf("slots differ (-want +got):\n%s", diff)
	}
	if since, missing := p.MissingSince(); missing {
		t.Errorf("slots are missing since %s though all are there", since)
	}
}

// A lost worker's slots are needed again, and the five minutes of
// slot.request.timeout begin anew.
func TestLostWorkerLeavesItsSharedSlotsEmpty(t *testing.T) {
	t.Parallel()
	p := New(3, start)
	for i, a := range []Slot{{"a", "w1"}, {"b", "w2"}, {"c", "w1"}} {
		p.Offer(a, at(i))
	}
	p.RemoveWorker("w1", at(10))
	if since, missing := p.MissingSince(); !missing || !since.Equal(at(10)) {
		t.Errorf("missing since %s (%t), want %s", since, missing, at(10))
	}
	if p.Required() != 3 || p.Held() != 1 {
		t.Errorf("%d of %d slots, want 1 of 3", p.Held(), p.Required())
	}
	p.Offer(Slot{"d", "w3"}, at(11))
	p.Offer(Slot{"e", "w3"}, at(12))
	if diff := cmp.Diff([]Slot{{"d", "w3"}, {"b", "w2"}, {"e", "w3"}}, p.Slots()); diff != "" {
		t.Errorf("slots differ (-want +got):\n%s", diff)
	}
}

func TestIdleSlotsAreGivenUp(t *testing.T) {
	t.Parallel()
	p := New(2, start)
	p.Offer(Slot{"a", "w1"}, start)
	p.Offer(Slot{"b", "w1"}, start)
	p.SetIdle(1, at(5))
	if since, idle := p.IdleSince(); !idle || !since.Equal(at(5)) {
		t.Errorf("idle since %s (%t), want %s", since, idle, at(5))
	}
	if freed := p.GiveUp(at(54), 50*time.Second); freed != nil {
		t.Errorf("slots %v were given up too early", freed)
	}
	if diff := cmp.Diff([]Slot{{"b", "w1"}}, p.GiveUp(at(55), 50*time.Second)); diff != "" {
		t.Errorf("freed slots differ (-want +got):\n%s", diff)
	}
	if _, idle := p.IdleSince(); idle || p.Required() != 1 {
		t.Errorf("after that: idle %t, %d required, want false and 1", idle, p.Required())
	}
	if p.Offer(Slot{"c", "w2"}, at(56)) {
		t.Error("a slot was taken for a shared slot that was given up")
	}
}

// TestPoolNeverHoldsASlotTwice compares with sets.
func TestPoolNeverHoldsASlotTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "slots")
		p := New(n, start)
		held := make(map[ids.AllocationID]ids.ResourceID)
		required := n
		idle := make(map[int]bool)
		for step := range rapid.IntRange(1, 40).Draw(t, "steps") {
			worker := ids.ResourceID(fmt.Sprint("w", rapid.IntRange(0, 3).Draw(t, "worker")))
			switch rapid.IntRange(0, 4).Draw(t, "action") {
			case 0, 1, 2:
				a := ids.AllocationID(fmt.Sprint("a", rapid.IntRange(0, 9).Draw(t, "allocation")))
				owner, known := held[a]
				want := known && owner == worker || !known && len(held) < required
				if got := p.Offer(Slot{a, worker}, at(step)); got != want {
					t.Fatalf("offer %s of %s: got %t, want %t", a, worker, got, want)
				}
				if want {
					held[a] = worker
				}
			case 3:
				p.RemoveWorker(worker, at(step))
				for a, owner := range held {
					if owner == worker {
						delete(held, a)
					}
				}
			case 4:
				i := rapid.IntRange(0, n-1).Draw(t, "idle")
				if !idle[i] {
					idle[i] = true
					p.SetIdle(i, at(step))
					required--
				}
				for _, s := range p.GiveUp(at(step), 0) {
					if _, known := held[s.Allocation]; !known {
						t.Fatalf("slot %s was given up but not held", s.Allocation)
					}
					delete(held, s.Allocation)
				}
			}
			slots := p.Slots()
			seen := make(map[ids.AllocationID]ids.ResourceID)
			for _, s := range slots {
				seen[s.Allocation] = s.Resource
			}
			if diff := cmp.Diff(held, seen); diff != "" || len(slots) != p.Held() || p.Required() != required {
				t.Fatalf("pool holds %d, requires %d (model: %d); slots differ (-model +pool):\n%s", p.Held(), p.Required(), required, diff)
			}
			if _, missing := p.MissingSince(); missing != (len(held) < required) {
				t.Fatalf("missing: got %t with %d of %d slots", missing, len(held), required)
			}
		}
	})
}
