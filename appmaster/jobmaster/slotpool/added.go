package slotpool

import (
	"slices"
	"time"
)

// added is the regions that the job has got after its start, for speculative executions. Their numbers follow those of the others.
type added struct {
	regions int
	waiting []int   // in the order in which they were added
	spare   [][]int // removed ones, of each kind
}

// Add adds a region that needs one slot of a kind, and shares it with no other region. It waits for it, but after all other regions.
// Its number may be that of a region that was removed.
func (p *Pool) Add(kind int, now time.Time) (r int) {
	if spare := p.sparesOf(kind); len(*spare) > 0 {
		last := len(*spare) - 1
		r, *spare = (*spare)[last], (*spare)[:last]
	} else {
		r = len(p.regions)
		shared := []int{len(p.shared)}
		p.shared = append(p.shared, sharedSlot{kind: kind})
		p.regions = append(p.regions, region{shape: p.shapeOf(shared), shared: shared})
		if p.tasks != nil {
			p.tasks = append(p.tasks, []int{1})
		}
		p.added.regions++
	}
	p.begin(r)
	p.added.waiting = append(p.added.waiting, r)
	p.watch(now)
	return r
}

// Remove removes a region that was added, whether it waits or has a slot. Nothing runs there any more.
func (p *Pool) Remove(r int, now time.Time) {
	p.added.waiting = slices.DeleteFunc(p.added.waiting, func(other int) bool { return other == r })
	p.Finish(r, now)
	spare := p.sparesOf(p.shared[p.regions[r].shared[0]].kind)
	*spare = append(*spare, r)
}

func (p *Pool) sparesOf(kind int) *[]int {
	if p.added.spare == nil {
		p.added.spare = make([][]int, len(p.kinds))
	}
	return &p.added.spare[kind]
}

// SlotOf gives the slot of a region that was added; false: it has none.
func (p *Pool) SlotOf(r int) (Slot, bool) { return p.At(p.regions[r].shared[0]) }
