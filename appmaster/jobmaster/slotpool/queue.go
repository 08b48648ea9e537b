package slotpool

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// queue is slots in the order in which they were offered.
type queue []*slot

func (q queue) find(s *slot) (at int, found bool) {
	return slices.BinarySearchFunc(q, s, func(a, b *slot) int { return a.sequence - b.sequence })
}

func (q *queue) add(s *slot) {
	if n := len(*q); n == 0 || (*q)[n-1].sequence < s.sequence { // the usual case
		*q = append(*q, s)
		return
	}
	if at, there := q.find(s); !there {
		*q = slices.Insert(*q, at, s)
	}
}

func (q *queue) remove(s *slot) {
	switch at, there := q.find(s); {
	case !there:
	case at == 0: // the usual case
		*q = (*q)[1:]
	default:
		*q = slices.Delete(*q, at, at+1)
	}
}

// removeUsed removes slots in which a region runs now: one by one, or all in one pass.
func (q *queue) removeUsed(taken []*slot) {
	if len(taken) > len(*q)/16 {
		*q = slices.DeleteFunc(*q, func(s *slot) bool { return s.users > 0 })
		return
	}
	for _, s := range taken {
		q.remove(s)
	}
}

func (q queue) list() []Slot {
	slots := make([]Slot, len(q))
	for i, s := range q {
		slots[i] = s.Slot
	}
	return slots
}

// worker finds a worker, or adds it.
func (p *Pool) worker(resource ids.ResourceID) *worker {
	w := p.workers[resource]
	if w == nil {
		w = &worker{}
		p.workers[resource] = w
	}
	return w
}

// dropIfUnknown removes a worker of which nothing is known.
func (p *Pool) dropIfUnknown(resource ids.ResourceID) {
	if w := p.workers[resource]; !w.ready && len(w.slots) == 0 {
		delete(p.workers, resource)
	}
}

// vacate makes a held slot free.
func (p *Pool) vacate(s *slot) {
	stock := &p.kinds[s.Kind]
	stock.free.add(s)
	if s.worker.ready {
		stock.usable.add(s)
	}
}

// drop removes a slot from the queues of all slots.
func (p *Pool) drop(s *slot) {
	delete(p.held, s.Allocation)
	p.slots.remove(s)
	stock := &p.kinds[s.Kind]
	stock.Held--
	stock.free.remove(s)
	stock.usable.remove(s)
}
