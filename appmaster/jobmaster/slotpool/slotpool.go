// Package slotpool is a JobMaster's view of its slots: the slots that it accepted from workers, the
// regions of the job that wait for slots, and the slots in which each region runs.
//
// A job is laid out over shared slots, as many as its widest vertex has subtasks. A shared slot
// holds at most one subtask of each vertex. A region runs in one or more shared slots, and several
// regions may share one. A worker's slot stands for one shared slot while regions run in it;
// afterwards any other region may use it. So a job whose regions do not depend on each other needs
// slots only for its largest region.
//
// A region holds no slot while it waits for another one. So two regions never wait for each other,
// and a waiting region keeps no slot from a region that could run in it.
//
// A Pool is plain state that the JobMaster's core owns: no I/O, no clock, no goroutine, no lock.
package slotpool

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Slot is a slot of a worker, granted to the job.
type Slot struct {
	Allocation ids.AllocationID
	Resource   ids.ResourceID
}

// Pool holds the slots of one job. Make it with New.
type Pool struct {
	regions []region
	shared  []sharedSlot
	waiting []int // regions that wait for slots, ascending
	// overlaps says that regions share slots: one may start without a free slot.
	overlaps bool

	held     map[ids.AllocationID]*slot
	workers  map[ids.ResourceID]*worker
	slots    queue // the held slots
	free     queue // slots in which no region runs
	usable   queue // free slots of ready workers
	sequence int   // of the last slot

	tasks [][]int // of each region in each of its shared slots; nil: see Balance
	loads *loads  // while Assign balances tasks

	needed  int         // shared slots of regions that have not finished
	surplus []time.Time // since when each slot beyond needed is idle, the oldest first
	bySize  []int       // regions by their number of shared slots; finished ones are removed from the front
	starved time.Time   // since when the held slots are too few for any region; zero: some region can run
}

type region struct {
	shared   []int   // its shared slots, ascending
	slots    []*slot // the slots that it runs in, in the same order; nil while it does not run
	finished bool
}

type sharedSlot struct {
	slot *slot // nil while no region runs in it
	open int   // its regions that have not finished
}

// worker is a worker that is ready, or whose slots the job holds.
type worker struct {
	ready bool // it has a host that takes tasks
	slots queue
	tasks int // of regions in its slots, if the pool balances tasks
}

type slot struct {
	Slot
	worker   *worker
	sequence int
	shared   int // the shared slot that it stands for while users is above 0
	users    int // regions that run in it
}

// New makes a pool without slots. regions lists the shared slots of each region, numbered from 0
// without a gap. Regions are in topological order and are served in this order. No region waits
// yet.
func New(regions [][]int, now time.Time) *Pool {
	p := &Pool{regions: make([]region, len(regions)), held: make(map[ids.AllocationID]*slot), workers: make(map[ids.ResourceID]*worker)}
	for r, shared := range regions {
		p.regions[r].shared = shared
		for _, i := range shared {
			for i >= len(p.shared) {
				p.shared = append(p.shared, sharedSlot{})
			}
		}
	}
	p.open(now)
	return p
}

// open makes all regions unfinished. None runs.
func (p *Pool) open(now time.Time) {
	p.needed, p.bySize = len(p.shared), nil
	for i := range p.shared {
		p.shared[i].open = 0
	}
	for r := range p.regions {
		p.regions[r].finished = false
		p.bySize = append(p.bySize, r)
		for _, i := range p.regions[r].shared {
			p.shared[i].open++
			p.overlaps = p.overlaps || p.shared[i].open > 1
		}
	}
	slices.SortStableFunc(p.bySize, func(a, b int) int { return len(p.regions[a].shared) - len(p.regions[b].shared) })
	p.watch(now)
}

// Reopen says that all regions start again, also those that have finished. No task may run in a slot.
// No region waits or holds slots afterwards; the job keeps its slots.
func (p *Pool) Reopen(now time.Time) {
	p.waiting = nil
	for r := range p.regions {
		p.Release(r)
	}
	p.open(now)
}

// Required is the number of slots that all unfinished regions need. The job declares it to the
// ResourceManager.
func (p *Pool) Required() int { return p.needed }

// Least is the number of slots with which the smallest unfinished region can run; 0 when all
// regions have finished.
func (p *Pool) Least() int {
	if len(p.bySize) == 0 {
		return 0
	}
	return len(p.regions[p.bySize[0]].shared)
}

// Held is the number of slots that the job has.
func (p *Pool) Held() int { return len(p.slots) }

// Slots gives the slots that the job has, in the order in which they were offered.
func (p *Pool) Slots() []Slot { return p.slots.list() }

// At gives the slot that stands for a shared slot; false while no region runs in it.
func (p *Pool) At(shared int) (Slot, bool) {
	if s := p.shared[shared].slot; s != nil {
		return s.Slot, true
	}
	return Slot{}, false
}

// Offer accepts a slot, or refuses it if the job has as many as it needs. It accepts a slot that
// the job already has.
func (p *Pool) Offer(offered Slot, now time.Time) bool {
	if s := p.held[offered.Allocation]; s != nil {
		return s.Slot == offered
	}
	if len(p.slots) >= p.needed {
		return false
	}
	p.sequence++
	s := &slot{Slot: offered, worker: p.worker(offered.Resource), sequence: p.sequence}
	p.held[offered.Allocation] = s
	p.slots.add(s)
	s.worker.slots.add(s)
	p.vacate(s)
	if !p.starved.IsZero() {
		p.starved = now // slots still come
	}
	p.watch(now)
	return true
}

// Wait makes a region wait for slots.
func (p *Pool) Wait(r int) {
	if at, waits := slices.BinarySearch(p.waiting, r); !waits {
		p.waiting = slices.Insert(p.waiting, at, r)
	}
}

// Waiting is the number of regions that wait for slots.
func (p *Pool) Waiting() int { return len(p.waiting) }

// StopWaiting takes all regions out of the queue, and lists them.
func (p *Pool) StopWaiting() []int {
	waiting := p.waiting
	p.waiting = nil
	return waiting
}

// SetReady says whether a worker has a host that takes tasks. A worker is not ready before.
func (p *Pool) SetReady(resource ids.ResourceID, ready bool) {
	w := p.worker(resource)
	if w.ready == ready {
		p.dropIfUnknown(resource)
		return
	}
	w.ready = ready
	for _, s := range w.slots {
		switch {
		case s.users > 0:
		case ready:
			p.usable.add(s)
		default:
			p.usable.remove(s)
		}
	}
	p.dropIfUnknown(resource)
}

// Assign gives slots with a ready worker to waiting regions, in their order, and lists the regions
// that can run now. A region gets all of its slots or none.
func (p *Pool) Assign() []int {
	if !p.starved.IsZero() {
		return nil
	}
	defer func() { p.loads = nil }()
	var started []int
	kept := p.waiting[:0]
	for i, r := range p.waiting {
		if len(p.usable) == 0 && !p.overlaps { // no other region can start
			if len(kept) == 0 {
				p.waiting = p.waiting[i:]
				return started
			}
			kept = append(kept, p.waiting[i:]...)
			break
		}
		if p.fits(r) {
			p.start(r)
			started = append(started, r)
		} else {
			kept = append(kept, r)
		}
	}
	p.waiting = kept
	return started
}

// fits tells whether the usable slots are enough for a region. Other slots of the region may already
// run other regions; their workers must be ready, too.
func (p *Pool) fits(r int) bool {
	shared, usable := p.regions[r].shared, len(p.usable)
	if !p.overlaps {
		return len(shared) <= usable
	}
	for _, i := range shared {
		switch s := p.shared[i].slot; {
		case s == nil:
			if usable--; usable < 0 {
				return false
			}
		case !s.worker.ready:
			return false
		}
	}
	return true
}

// start lets a region run. It uses as many of the usable slots as the region lacks.
func (p *Pool) start(r int) {
	region := &p.regions[r]
	region.slots = make([]*slot, len(region.shared))
	order := p.order(r)
	var taken []*slot
	for n := range region.shared {
		at := n
		if order != nil {
			at = order[n]
		}
		i := region.shared[at]
		s := p.shared[i].slot
		if s == nil {
			s = p.next(len(taken))
			taken = append(taken, s)
			s.shared, p.shared[i].slot = i, s
		}
		s.users++
		region.slots[at] = s
		p.load(s.worker, r, at)
	}
	p.usable.removeUsed(taken)
	p.free.removeUsed(taken)
}

// Release frees the slots of a region that has not finished but runs no task any more. False means
// that the region had no slots.
func (p *Pool) Release(r int) bool {
	region := &p.regions[r]
	if region.slots == nil {
		return false
	}
	for at, s := range region.slots {
		s.users--
		if p.held[s.Allocation] != s {
			continue // its worker is gone
		}
		if p.unload(s.worker, r, at); s.users > 0 {
			continue // others run there
		}
		p.shared[s.shared].slot = nil
		p.vacate(s)
	}
	region.slots = nil
	return true
}

// Finish says, once, that a region has finished: other regions may use its slots.
func (p *Pool) Finish(r int, now time.Time) {
	p.Release(r)
	p.regions[r].finished = true
	for _, i := range p.regions[r].shared {
		if p.shared[i].open--; p.shared[i].open == 0 {
			p.needed--
		}
	}
	p.watch(now)
}

// RemoveWorker removes the slots of a worker that is gone, and returns them. The job still needs as
// many slots.
func (p *Pool) RemoveWorker(resource ids.ResourceID, now time.Time) []Slot {
	w := p.workers[resource]
	if w == nil || len(w.slots) == 0 {
		return nil
	}
	removed := w.slots.list()
	for _, s := range w.slots {
		if s.users > 0 {
			p.shared[s.shared].slot = nil
		}
		p.drop(s)
	}
	w.slots, w.tasks = nil, 0
	p.dropIfUnknown(resource)
	p.watch(now)
	return removed
}

// StarvedSince gives since when the job has too few slots for any unfinished region, and got no
// further slot. False means that some region runs, or can run when its workers are ready; other
// regions use its slots afterwards.
func (p *Pool) StarvedSince() (time.Time, bool) { return p.starved, !p.starved.IsZero() }

// IdleSince gives the earliest time since which the job has a slot that no region needs.
func (p *Pool) IdleSince() (time.Time, bool) {
	if len(p.surplus) == 0 {
		return time.Time{}, false
	}
	return p.surplus[0], true
}

// GiveUp removes the slots that were idle for the timeout or longer, and returns them, so that the
// caller can give them back to their workers.
func (p *Pool) GiveUp(now time.Time, timeout time.Duration) []Slot {
	var freed []Slot
	for len(p.surplus) > 0 && now.Sub(p.surplus[0]) >= timeout {
		s := p.free[len(p.free)-1] // Assign takes the first ones
		p.surplus = p.surplus[1:]
		p.drop(s)
		s.worker.slots.remove(s)
		p.dropIfUnknown(s.Resource)
		freed = append(freed, s.Slot)
	}
	return freed
}

// watch updates since when slots are idle or too few.
func (p *Pool) watch(now time.Time) {
	idle := max(len(p.slots)-p.needed, 0)
	p.surplus = p.surplus[:min(idle, len(p.surplus))]
	for len(p.surplus) < idle {
		p.surplus = append(p.surplus, now)
	}
	for len(p.bySize) > 0 && p.regions[p.bySize[0]].finished {
		p.bySize = p.bySize[1:]
	}
	switch {
	case len(p.slots) >= p.Least():
		p.starved = time.Time{}
	case p.starved.IsZero():
		p.starved = now
	}
}
