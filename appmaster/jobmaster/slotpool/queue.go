package slotpool

import "slices"

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
