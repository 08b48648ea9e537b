package slotpool

import (
	"testing"
)

// TestABlockedRegionWaitsForItsInputs would catch a job that counts as able to run because a region fits that must not run yet, one that
// is starved while nothing may run, and a region that runs without its inputs.
func TestABlockedRegionWaitsForItsInputs(t *testing.T) {
	t.Parallel()
	p := waiting([]int{0, 1, 2}, []int{0})
	p.Offer(Slot{"a", "w1", 0}, at(1))
	if _, starved := p.StarvedSince(); starved {
		t.Error("the second region can run, and the job is starved")
	}
	p.Block(1, at(2))
	since, starved := p.StarvedSince()
	if d := p.Demand(0); !starved || since != at(2) || d.Least != 3 || d.Part != 3 || d.Required != 3 || d.Later != 1 {
		t.Errorf("the second region waits for its inputs; the job is starved %t since %v, and needs %+v", starved, since, d)
	}
	p.Block(0, at(3))
	if most := p.Largest(0); most != 3 {
		t.Errorf("all regions wait for their inputs, and the largest needs %d slots", most)
	}
	if _, starved := p.StarvedSince(); starved || p.Waiting() != 0 {
		t.Errorf("%d regions wait for slots, and all wait for their inputs; starved %t", p.Waiting(), starved)
	}
	if d := p.Demand(0); d.Least != 1 || d.Required != 3 || d.Later != 3 {
		t.Errorf("all regions wait for their inputs, and the job needs %+v", d)
	}
	p.Unblock(0, at(4))
	p.Unblock(1, at(4))
	if d := p.Demand(0); d.Later != 0 {
		t.Errorf("no region waits for its inputs, and the job needs %+v", d)
	}
	p.Block(0, at(4))
	expectStarted(t, p)
	p.Wait(1)
	expectStarted(t, p, 1)
}

// TestARegionRunsAgain would catch slots that are not requested for a region that has finished and runs again, or requested twice.
func TestARegionRunsAgain(t *testing.T) {
	t.Parallel()
	p := waiting([]int{0}, []int{1})
	p.Offer(Slot{"a", "w1", 0}, at(1))
	expectStarted(t, p, 0)
	p.Finish(0, at(2))
	if d := p.Demand(0); d.Required != 1 {
		t.Errorf("one region is left, and the job needs %+v", d)
	}
	for range 2 {
		p.Again(0, at(3))
		if d := p.Demand(0); d.Required != 2 || d.Least != 1 {
			t.Errorf("a region runs again, and the job needs %+v", d)
		}
	}
	p.Wait(0)
	expectStarted(t, p, 0)
}
