package slotpool

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

// waiting makes a pool whose regions all wait, and for which two workers are ready.
func waiting(regions ...[]int) *Pool {
	last := 0
	for _, shared := range regions {
		last = max(last, slices.Max(shared))
	}
	p := New(regions, make([]int, last+1), start)
	for r := range regions {
		p.Wait(r)
	}
	p.SetReady("w1", true)
	p.SetReady("w2", true)
	return p
}

func expectStarted(t *testing.T, p *Pool, want ...int) {
	t.Helper()
	if diff := cmp.Diff(want, p.Assign(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("regions that can run differ (-want +got):\n%s", diff)
	}
}

func TestSlotsAreTakenInTheOrderOfTheirOffers(t *testing.T) {
	t.Parallel()
	p := waiting([]int{0, 1})
	a, b, c := Slot{"a", "w1", 0}, Slot{"b", "w2", 0}, Slot{"c", "w2", 0}
	if !p.Offer(a, at(1)) || !p.Offer(b, at(2)) {
		t.Error("a slot that is needed was refused")
	}
	if p.Offer(c, at(3)) {
		t.Error("a slot too many was taken")
	}
	if !p.Offer(a, at(3)) {
		t.Error("a slot that is held was refused when it was offered again")
	}
	if p.Offer(Slot{"a", "w9", 0}, at(3)) {
		t.Error("a slot that one worker holds was taken from another")
	}
	expectStarted(t, p, 0)
	for i, want := range []Slot{a, b} {
		if got, runs := p.At(i); !runs || got != want {
			t.Errorf("shared slot %d is %v (%t), want %v", i, got, runs, want)
		}
	}
}

// TestNoRegionHoldsWhatItCannotUse would catch two regions that wait for each other's slots, and a
// waiting region that keeps a slot from another region.
func TestNoRegionHoldsWhatItCannotUse(t *testing.T) {
	t.Parallel()
	p := waiting([]int{0, 1}, []int{2, 3}, []int{4})
	p.Offer(Slot{"a", "w1", 0}, start)
	expectStarted(t, p, 2)
	p.Offer(Slot{"b", "w1", 0}, start)
	expectStarted(t, p)
	p.Finish(2, start)
	expectStarted(t, p, 0)
	p.Finish(0, start)
	expectStarted(t, p, 1)
	if p.Total().Required != 2 {
		t.Errorf("%d slots are required for the last region, want 2", p.Total().Required)
	}
}

// TestAFreeSlotNeedsAHost would catch a region that is sent to a host that does not exist, and a
// region that waits for this host though a slot elsewhere is ready.
func TestAFreeSlotNeedsAHost(t *testing.T) {
	t.Parallel()
	p := waiting([]int{0}, []int{1})
	p.Offer(Slot{"a", "w1", 0}, start)
	p.Offer(Slot{"b", "w2", 0}, start)
	p.SetReady("w1", false)
	expectStarted(t, p, 0)
	expectStarted(t, p)
	p.SetReady("w1", true)
	expectStarted(t, p, 1)
}

// Two regions share one slot until the last of them has left it.
func TestRegionsShareASlot(t *testing.T) {
	t.Parallel()
	p := waiting([]int{0}, []int{0}, []int{1})
	p.Offer(Slot{"a", "w1", 0}, start)
	expectStarted(t, p, 0, 1)
	p.Release(1)
	p.Wait(1)
	p.SetReady("w1", false) // its host has ended
	expectStarted(t, p)
	p.SetReady("w1", true)
	expectStarted(t, p, 1)
	p.Finish(0, start)
	expectStarted(t, p)
	if p.Total().Required != 2 {
		t.Errorf("%d slots are required, want 2: one region of the first is left", p.Total().Required)
	}
	p.Finish(1, start)
	expectStarted(t, p, 2)
}

// The slots of a lost worker are needed again, except those of regions that have finished.
func TestALostWorkersSlotsAreNeededAgain(t *testing.T) {
	t.Parallel()
	p := waiting([]int{0}, []int{1}, []int{2})
	for i, a := range []Slot{{"a", "w1", 0}, {"b", "w2", 0}, {"c", "w1", 0}} {
		p.Offer(a, at(i))
	}
	expectStarted(t, p, 0, 1, 2)
	p.Finish(2, at(9))
	if diff := cmp.Diff([]Slot{{"a", "w1", 0}, {"c", "w1", 0}}, p.RemoveWorker("w1", at(10))); diff != "" {
		t.Errorf("slots that are gone differ (-want +got):\n%s", diff)
	}
	if p.Total().Required != 2 || p.Total().Held != 1 {
		t.Errorf("%d of %d slots, want 1 of 2", p.Total().Held, p.Total().Required)
	}
	p.Release(0)
	p.Wait(0)
	p.Offer(Slot{"a", "w1", 0}, at(11)) // the worker is back, and offers its slots
	expectStarted(t, p, 0)
	p.Release(0)
	if diff := cmp.Diff([]Slot{{"b", "w2", 0}, {"a", "w1", 0}}, p.Slots()); diff != "" {
		t.Errorf("slots differ (-want +got):\n%s", diff)
	}
}

// An idle slot serves a region that has lost its own.
func TestAnIdleSlotIsUsedAgain(t *testing.T) {
	t.Parallel()
	p := waiting([]int{0}, []int{1})
	p.Offer(Slot{"a", "w1", 0}, start)
	p.Offer(Slot{"b", "w2", 0}, start)
	expectStarted(t, p, 0, 1)
	p.Finish(0, at(5))
	if since, idle := p.IdleSince(); !idle || !since.Equal(at(5)) {
		t.Errorf("idle since %s (%t), want %s", since, idle, at(5))
	}
	p.RemoveWorker("w2", at(6))
	if since, idle := p.IdleSince(); idle {
		t.Errorf("a slot that is needed is idle since %s", since)
	}
	p.Release(1)
	p.Wait(1)
	expectStarted(t, p, 1)
}

func TestIdleSlotsAreGivenUp(t *testing.T) {
	t.Parallel()
	p := waiting([]int{0}, []int{1}, []int{2})
	for i, s := range []Slot{{"a", "w1", 0}, {"b", "w1", 0}, {"c", "w1", 0}} {
		p.Offer(s, at(i))
	}
	expectStarted(t, p, 0, 1, 2)
	p.Finish(1, at(5))
	p.Release(2) // it fails, and will need a slot
	if freed := p.GiveUp(at(54), 50*time.Second); freed != nil {
		t.Errorf("slots %v were given up too early", freed)
	}
	if diff := cmp.Diff([]Slot{{"c", "w1", 0}}, p.GiveUp(at(55), 50*time.Second)); diff != "" {
		t.Errorf("freed slots differ (-want +got):\n%s", diff)
	}
	if _, idle := p.IdleSince(); idle || p.Total().Required != 2 {
		t.Errorf("after that: idle %t, %d required, want false and 2", idle, p.Total().Required)
	}
	if p.Offer(Slot{"d", "w2", 0}, at(56)) {
		t.Error("a slot was taken that nobody needs")
	}
	p.Wait(2)
	expectStarted(t, p, 2)
}

// TestTheClockRunsWhileNoSlotCirculates would catch a job that fails for lack of slots while its
// regions run one after the other, and a job that waits for ever for slots though no region has
// any.
func TestTheClockRunsWhileNoSlotCirculates(t *testing.T) {
	t.Parallel()
	p := waiting([]int{0}, []int{1}, []int{2, 3, 4})
	expect := func(what string, want time.Time) {
		t.Helper()
		if since, starved := p.StarvedSince(); starved != !want.IsZero() || !since.Equal(want) {
			t.Errorf("%s: no slot circulates since %s (%t), want %s", what, since, starved, want)
		}
	}
	expect("at the beginning", start)
	p.Offer(Slot{"a", "w1", 0}, at(1))
	expect("one slot is enough for a region", time.Time{})
	expectStarted(t, p, 0)
	p.Finish(0, at(2))
	expectStarted(t, p, 1)
	expect("the second one has it", time.Time{})
	p.RemoveWorker("w1", at(3))
	expect("its worker is lost", at(3))
	p.Release(1)
	p.Wait(1)
	p.Offer(Slot{"b", "w2", 0}, at(4))
	expectStarted(t, p, 1)
	p.Finish(1, at(5))
	expect("the last region needs more", at(5))
	p.Offer(Slot{"c", "w2", 0}, at(6))
	expect("another slot has come", at(6))
	p.Offer(Slot{"d", "w2", 0}, at(7))
	expect("all are there", time.Time{})
	expectStarted(t, p, 2)
	p.Finish(2, at(8))
	expect("all is done", time.Time{})
}
