// Package slotpool is a JobMaster's view of its slots: those that workers
// offered and it took, and which part of the job runs in each.
//
// A job is laid out over shared slots, as many as its widest vertex has
// subtasks; a shared slot holds at most one subtask of each vertex, and every
// slot from a worker stands for one shared slot. A Pool is plain state that the
// JobMaster's core owns: no I/O, no clock, no goroutine, no lock.
package slotpool

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Slot is a slot of a worker, granted to the job.
type Slot struct {
	Allocation ids.AllocationID
	Resource   ids.ResourceID
}

// Pool holds the shared slots of one job. Make it with New.
type Pool struct {
	shared  []sharedSlot
	full    int                      // every shared slot below this index has a slot or is given up
	held    map[ids.AllocationID]int // shared slot of each slot
	needed  int                      // shared slots that are not given up
	idle    []idleSlot               // not given up yet, in the order of time
	missing time.Time                // since when some needed slot is not there; zero when all are
}

type sharedSlot struct {
	slot  Slot // no Allocation while there is none
	given bool // given up: the job needs it no more
}

// idleSlot is a shared slot in which nothing runs nor is going to.
type idleSlot struct {
	shared int
	since  time.Time
}

// New makes a pool of n shared slots, all needed and missing from now on.
func New(n int, now time.Time) *Pool {
	return &Pool{
		shared: make([]sharedSlot, n), held: make(map[ids.AllocationID]int), needed: n, missing: now,
	}
}

// Required is the number of slots the job needs in all: what it declares to the
// ResourceManager.
func (p *Pool) Required() int { return p.needed }

// Held is the number of slots that are there.
func (p *Pool) Held() int { return len(p.held) }

// MissingSince is since when fewer slots are there than are needed.
func (p *Pool) MissingSince() (time.Time, bool) { return p.missing, !p.missing.IsZero() }

// Offer takes a slot for the first shared slot that needs one; false means that
// none does. A slot that is held already is taken again.
func (p *Pool) Offer(s Slot, now time.Time) bool {
	if i, held := p.held[s.Allocation]; held {
		return p.shared[i].slot == s
	}
	for ; p.full < len(p.shared); p.full++ {
		if shared := &p.shared[p.full]; shared.slot.Allocation == "" && !shared.given {
			shared.slot = s
			p.held[s.Allocation] = p.full
			p.watch(now)
			return true
		}
	}
	return false
}

// At gives the slot behind a shared slot; false while there is none.
func (p *Pool) At(shared int) (Slot, bool) {
	s := p.shared[shared].slot
	return s, s.Allocation != ""
}

// Slots gives the slots that are there, by shared slot.
func (p *Pool) Slots() []Slot {
	var held []Slot
	for _, s := range p.shared {
		if s.slot.Allocation != "" {
			held = append(held, s.slot)
		}
	}
	return held
}

// RemoveWorker forgets the slots of a worker that is gone. The job still needs
// as many.
func (p *Pool) RemoveWorker(resource ids.ResourceID, now time.Time) {
	for i := range p.shared {
		if shared := &p.shared[i]; shared.slot.Allocation != "" && shared.slot.Resource == resource {
			delete(p.held, shared.slot.Allocation)
			shared.slot = Slot{}
			p.full = min(p.full, i)
		}
	}
	p.watch(now)
}

// SetIdle says, once, that nothing runs in a shared slot any more, nor is going
// to.
func (p *Pool) SetIdle(shared int, now time.Time) {
	p.idle = append(p.idle, idleSlot{shared, now})
}

// IdleSince is the earliest time since when a shared slot that was not given up
// is idle.
func (p *Pool) IdleSince() (time.Time, bool) {
	if len(p.idle) == 0 {
		return time.Time{}, false
	}
	return p.idle[0].since, true
}

// GiveUp gives up the shared slots that were idle for the timeout or longer, and
// returns their slots for their workers.
func (p *Pool) GiveUp(now time.Time, timeout time.Duration) []Slot {
	var freed []Slot
	for len(p.idle) > 0 && now.Sub(p.idle[0].since) >= timeout {
		s := &p.shared[p.idle[0].shared]
		p.idle = p.idle[1:]
		s.given = true
		p.needed--
		if s.slot.Allocation != "" {
			delete(p.held, s.slot.Allocation)
			freed = append(freed, s.slot)
			s.slot = Slot{}
		}
	}
	p.watch(now)
	return freed
}

// watch notes since when slots are missing.
func (p *Pool) watch(now time.Time) {
	switch {
	case len(p.held) >= p.needed:
		p.missing = time.Time{}
	case p.missing.IsZero():
		p.missing = now
	}
}
