// Package slotpool is a JobMaster's view of its slots: the slots that it accepted from workers, the
// regions of the job that wait for slots, and the slots in which each region runs.
//
// A job is laid out over shared slots: for each slot sharing group as many as its widest vertex has
// subtasks. A shared slot holds at most one subtask of each vertex of its group. A region runs in one or more shared slots, and several
// regions may share one. A worker's slot stands for one shared slot while regions run in it;
// afterwards any other region may use it. So a job whose regions do not depend on each other needs
// slots only for its largest region.
//
// Slots have kinds: the resource profiles of the job's slot sharing groups. A worker's slot stands only
// for shared slots of its kind.
//
// A region that waits for its inputs, which other regions still make, is blocked: see Block.
//
// A region holds no slot while it waits for another one. So two regions never wait for each other,
// and a waiting region keeps no slot from a region that could run in it.
//
// A Pool is plain state that the JobMaster's core owns: no I/O, no clock, no goroutine, no lock.
package slotpool

import (
	"fmt"
	"iter"
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
	added   added
	// overlaps says that regions share slots: one may start without a free slot.
	overlaps bool

	held     map[ids.AllocationID]*slot
	workers  map[ids.ResourceID]*worker
	slots    queue // the held slots
	sequence int   // of the last slot

	tasks [][]int // of each region in each of its shared slots; nil: see Balance

	kinds   []stock
	shapes  []shape
	shapeAt map[string]int // index of each shape by its needs
	starved time.Time      // since when the held slots are too few for any region; zero: some region can run
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
	// Least and Part do not count regions that wait for their inputs, unless all do.
	Least int // by an unfinished region that needs slots of this kind; 0: there is none
	Part  int // by the unfinished region that needs the most slots of all kinds together
	Later int // by a region that waits for its inputs; the most of all
}

// shape is the regions that need the same number of slots of each kind.
type shape struct {
	needs []int // of each kind
	open  int   // its regions that have not finished
	ready int   // of these, the ones that do not wait for their inputs
}

type region struct {
	shape    int
	shared   []int   // its shared slots, ascending
	slots    []*slot // the slots that it runs in, in the same order; nil while it does not run
	finished bool
	blocked  bool // it waits for its inputs
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

// New makes a pool without slots. regions lists the shared slots of each region, ascending, and kinds the kind of
// each shared slot. Both are numbered from 0 without a gap; of the shared slots, no region may need some. Regions are
// in topological order and are served in this order. No region waits yet.
func New(regions [][]int, kinds []int, now time.Time) *Pool {
	p := &Pool{
		regions: make([]region, len(regions)), shared: make([]sharedSlot, len(kinds)), kinds: make([]stock, slices.Max(kinds)+1),
		shapeAt: make(map[string]int), held: make(map[ids.AllocationID]*slot), workers: make(map[ids.ResourceID]*worker),
	}
	for i, kind := range kinds {
		p.shared[i].kind = kind
	}
	for r, shared := range regions {
		p.regions[r] = region{shape: p.shapeOf(shared), shared: shared}
	}
	p.open(now)
	return p
}

// shapeOf finds the shape of a region with these shared slots, or adds it.
func (p *Pool) shapeOf(shared []int) int {
	needs := make([]int, len(p.kinds))
	for _, i := range shared {
		needs[p.shared[i].kind]++
	}
	key := fmt.Sprint(needs)
	at, known := p.shapeAt[key]
	if !known {
		at = len(p.shapes)
		p.shapeAt[key] = at
		p.shapes = append(p.shapes, shape{needs: needs})
	}
	return at
}

// open makes all regions unfinished. None runs.
func (p *Pool) open(now time.Time) {
	for k := range p.kinds {
		p.kinds[k].Required = 0
	}
	for i := range p.shared {
		p.shared[i].open = 0
	}
	for i := range p.shapes {
		p.shapes[i].open, p.shapes[i].ready = 0, 0
	}
	for r := range p.regions[:len(p.regions)-p.added.regions] {
		p.regions[r].blocked = false
		p.begin(r)
	}
	p.watch(now)
}

// begin makes a region unfinished.
func (p *Pool) begin(r int) {
	region := &p.regions[r]
	region.finished = false
	p.count(r, +1)
	for _, i := range region.shared {
		if p.shared[i].open++; p.shared[i].open == 1 {
			p.kinds[p.shared[i].kind].Required++
		}
		p.overlaps = p.overlaps || p.shared[i].open > 1
	}
}

// count adds n to the counts of an unfinished region's shape.
func (p *Pool) count(r, n int) {
	region := &p.regions[r]
	p.shapes[region.shape].open += n
	if !region.blocked {
		p.shapes[region.shape].ready += n
	}
}

// Reopen says that all regions start again, also those that have finished. No task may run in a slot, and all regions that were added
// are removed. No region waits or holds slots afterwards; the job keeps its slots.
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
	for s := range p.counted() {
		if total.Least == 0 || s.slots() < total.Least {
			total.Least = s.slots()
		}
	}
	return total
}

// Largest is the most slots of a kind that an unfinished region needs, also one that waits for its inputs.
func (p *Pool) Largest(kind int) (most int) {
	for _, s := range p.shapes {
		if s.open > 0 {
			most = max(most, s.needs[kind])
		}
	}
	return most
}

// counted gives the shapes of unfinished regions that do not wait for their inputs, or of all unfinished regions if all wait.
func (p *Pool) counted() iter.Seq[*shape] {
	some := slices.ContainsFunc(p.shapes, func(s shape) bool { return s.ready > 0 })
	return func(yield func(*shape) bool) {
		for i := range p.shapes {
			if s := &p.shapes[i]; (s.ready > 0 || !some && s.open > 0) && !yield(s) {
				return
			}
		}
	}
}

// slots sums the slots of all kinds.
func (s *shape) slots() (sum int) {
	for _, n := range s.needs {
		sum += n
	}
	return sum
}

// largest finds the unfinished regions that need the most slots, or gives nil.
func (p *Pool) largest() (most *shape) {
	for s := range p.counted() {
		if most == nil || s.slots() > most.slots() {
			most = s
		}
	}
	return most
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
