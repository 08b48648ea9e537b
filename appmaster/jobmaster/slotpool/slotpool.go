// Package slotpool is a JobMaster's view of its slots: the slots that it accepted from workers, the
// regions of the job that wait for slots, and the slots in which each region runs.
//
// A job is laid out over shared slots, as many as its widest vertex has subtasks. A shared slot
// holds at most one subtask of each vertex. A region runs in one or more shared slots, and several
// regions may share one. A worker's slot stands for one shared slot while regions run in it;
// afterwards any other region may use it. So a job whose regions do not depend on each other needs
// slots only for its largest region.
//
// Slots have kinds: the resource profiles of the job's slot sharing groups. A worker's slot stands only
// for shared slots of its kind.
//
// A region holds no slot while it waits for another one. So two regions never wait for each other,
// and a waiting region keeps no slot from a region that could run in it.
//
// A Pool is plain state that the JobMaster's core owns: no I/O, no clock, no goroutine, no lock.
package slotpool

import (
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// Slot is a slot of a worker, granted to the job.
type Slot struct {
	Allocation ids.AllocationID
	Resource   ids.ResourceID
	Kind       int
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
	sequence int   // of the last slot

	tasks [][]int // of each region in each of its shared slots; nil: see Balance

	kinds   []stock
	shapes  []shape
	starved time.Time // since when the held slots are too few for any region; zero: some region can run
}

// stock is the slots of one kind.
type stock struct {
	Demand
	free    queue       // slots in which no region runs
	usable  queue       // free slots of ready workers
	surplus []time.Time // since when each slot beyond Required is idle, the oldest first
	left    int         // scratch of fits
	taken   []*slot     // scratch of start
	loads   *loads      // while Assign balances tasks
}

// Demand is how many slots of a kind the job has and needs.
type Demand struct {
	Held     int
	Required int // by all unfinished regions together. The job declares it to the ResourceManager
	Least    int // by an unfinished region that needs slots of this kind; 0: there is none
}

// shape is the regions that need the same number of slots of each kind.
type shape struct {
	needs []int // of each kind
	open  int   // its regions that have not finished
}

type region struct {
	shape    int
	shared   []int   // its shared slots, ascending
	slots    []*slot // the slots that it runs in, in the same order; nil while it does not run
	finished bool
}

type sharedSlot struct {
	kind int
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
// without a gap, and kinds the kind of each shared slot, also from 0 without a gap. Regions are in
// topological order and are served in this order. No region waits yet.
func New(regions [][]int, kinds []int, now time.Time) *Pool {
	p := &Pool{
		regions: make([]region, len(regions)), shared: make([]sharedSlot, len(kinds)), kinds: make([]stock, slices.Max(kinds)+1),
		held: make(map[ids.AllocationID]*slot), workers: make(map[ids.ResourceID]*worker),
	}
	for i, kind := range kinds {
		p.shared[i].kind = kind
	}
	known := make(map[string]int) // shapes
	for r, shared := range regions {
		needs := make([]int, len(p.kinds))
		for _, i := range shared {
			needs[kinds[i]]++
		}
		key := fmt.Sprint(needs)
		at, is := known[key]
		if !is {
			at = len(p.shapes)
			known[key] = at
			p.shapes = append(p.shapes, shape{needs: needs})
		}
		p.regions[r] = region{shape: at, shared: shared}
	}
	p.open(now)
	return p
}

// open makes all regions unfinished. None runs.
func (p *Pool) open(now time.Time) {
	for k := range p.kinds {
		p.kinds[k].Required = 0
	}
	for i := range p.shared {
		p.shared[i].open = 0
		p.kinds[p.shared[i].kind].Required++
	}
	for i := range p.shapes {
		p.shapes[i].open = 0
	}
	for r := range p.regions {
		p.regions[r].finished = false
		p.shapes[p.regions[r].shape].open++
		for _, i := range p.regions[r].shared {
			p.shared[i].open++
			p.overlaps = p.overlaps || p.shared[i].open > 1
		}
	}
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

// Kinds is the number of kinds.
func (p *Pool) Kinds() int { return len(p.kinds) }

// Demand gives how many slots of a kind the job has and needs.
func (p *Pool) Demand(kind int) Demand { return p.kinds[kind].Demand }

// Total sums the Demand of all kinds, but its Least is that of the region that needs the fewest slots.
func (p *Pool) Total() Demand {
	var total Demand
	for k := range p.kinds {
		total.Held += p.kinds[k].Held
		total.Required += p.kinds[k].Required
	}
	for _, s := range p.shapes {
		sum := 0
		for _, n := range s.needs {
			sum += n
		}
		if s.open > 0 && (total.Least == 0 || sum < total.Least) {
			total.Least = sum
		}
	}
	return total
}

// Free is the number of slots that the job has and in which nothing runs.
func (p *Pool) Free() (free int) {
	for k := range p.kinds {
		free += len(p.kinds[k].free)
	}
	return free
}

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
	stock := &p.kinds[offered.Kind]
	if stock.Held >= stock.Required {
		return false
	}
	p.sequence++
	s := &slot{Slot: offered, worker: p.worker(offered.Resource), sequence: p.sequence}
	p.held[offered.Allocation] = s
	stock.Held++
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
			p.kinds[s.Kind].usable.add(s)
		default:
			p.kinds[s.Kind].usable.remove(s)
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
	defer func() {
		for k := range p.kinds {
			p.kinds[k].loads = nil
		}
	}()
	var started []int
	kept := p.waiting[:0]
	for i, r := range p.waiting {
		if !p.overlaps && !p.someUsable() { // no other region can start
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

// someUsable tells whether any free slot of a ready worker is left.
func (p *Pool) someUsable() bool {
	for k := range p.kinds {
		if len(p.kinds[k].usable) > 0 {
			return true
		}
	}
	return false
}

// fits tells whether the usable slots are enough for a region. Other slots of the region may already
// run other regions; their workers must be ready, too.
func (p *Pool) fits(r int) bool {
	region := &p.regions[r]
	for k, n := range p.shapes[region.shape].needs {
		stock := &p.kinds[k]
		if stock.left = len(stock.usable); !p.overlaps && n > stock.left {
			return false
		}
	}
	if !p.overlaps {
		return true
	}
	for _, i := range region.shared {
		switch s := p.shared[i].slot; {
		case s == nil:
			stock := &p.kinds[p.shared[i].kind]
			if stock.left--; stock.left < 0 {
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
	for n := range region.shared {
		at := n
		if order != nil {
			at = order[n]
		}
		i := region.shared[at]
		s := p.shared[i].slot
		if s == nil {
			stock := &p.kinds[p.shared[i].kind]
			s = p.next(stock)
			stock.taken = append(stock.taken, s)
			s.shared, p.shared[i].slot = i, s
		}
		s.users++
		region.slots[at] = s
		p.load(s.worker, r, at)
	}
	for k := range p.kinds {
		stock := &p.kinds[k]
		stock.usable.removeUsed(stock.taken)
		stock.free.removeUsed(stock.taken)
		stock.taken = stock.taken[:0]
	}
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
	p.shapes[p.regions[r].shape].open--
	for _, i := range p.regions[r].shared {
		if p.shared[i].open--; p.shared[i].open == 0 {
			p.kinds[p.shared[i].kind].Required--
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
func (p *Pool) IdleSince() (earliest time.Time, idle bool) {
	for k := range p.kinds {
		if surplus := p.kinds[k].surplus; len(surplus) > 0 && (!idle || surplus[0].Before(earliest)) {
			earliest, idle = surplus[0], true
		}
	}
	return earliest, idle
}

// GiveUp removes the slots that were idle for the timeout or longer, and returns them, so that the
// caller can give them back to their workers.
func (p *Pool) GiveUp(now time.Time, timeout time.Duration) []Slot {
	var freed []Slot
	for k := range p.kinds {
		stock := &p.kinds[k]
		for len(stock.surplus) > 0 && now.Sub(stock.surplus[0]) >= timeout {
			s := stock.free[len(stock.free)-1] // Assign takes the first ones
			stock.surplus = stock.surplus[1:]
			p.drop(s)
			s.worker.slots.remove(s)
			p.dropIfUnknown(s.Resource)
			freed = append(freed, s.Slot)
		}
	}
	return freed
}

// watch updates how many slots are needed at least, and since when slots are idle or too few.
func (p *Pool) watch(now time.Time) {
	for k := range p.kinds {
		stock := &p.kinds[k]
		idle := max(stock.Held-stock.Required, 0)
		stock.surplus = stock.surplus[:min(idle, len(stock.surplus))]
		for len(stock.surplus) < idle {
			stock.surplus = append(stock.surplus, now)
		}
		stock.Least = 0
	}
	some, done := false, true
	for _, s := range p.shapes {
		if s.open == 0 {
			continue
		}
		done = false
		enough := true
		for k, n := range s.needs {
			stock := &p.kinds[k]
			if n > 0 && (stock.Least == 0 || n < stock.Least) {
				stock.Least = n
			}
			enough = enough && n <= stock.Held
		}
		some = some || enough
	}
	switch {
	case some || done:
		p.starved = time.Time{}
	case p.starved.IsZero():
		p.starved = now
	}
}
