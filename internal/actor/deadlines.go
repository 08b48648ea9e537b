package actor

import (
	"container/heap"
	"time"
)

// Deadlines holds times under names, for a core that waits for many things. The core
// returns Next as its alarm, and calls Due when it is woken. The zero value is ready to
// use. Only one goroutine may use it, like all parts of a core.
type Deadlines[K comparable] struct {
	order   deadlineHeap[K] // may hold outdated deadlines: see current
	current map[K]uint64    // by name, the number of the valid deadline
	last    uint64
}

type deadline[K comparable] struct {
	key    K
	at     time.Time
	number uint64 // of the setting
}

// Set sets the deadline of this name. It replaces an earlier one.
func (d *Deadlines[K]) Set(key K, at time.Time) {
	if d.current == nil {
		d.current = make(map[K]uint64)
	}
	d.last++
	d.current[key] = d.last
	heap.Push(&d.order, deadline[K]{key, at, d.last})
	if len(d.order) > 2*len(d.current)+minimalHeap {
		d.compact()
	}
}

// minimalHeap is the number of outdated deadlines below which a compaction is not worth its cost.
const minimalHeap = 64

// Cancel removes the deadline of this name, if there is one.
func (d *Deadlines[K]) Cancel(key K) { delete(d.current, key) }

// Next returns the earliest deadline, or the zero time if there is none.
func (d *Deadlines[K]) Next() time.Time {
	if d.skip(); len(d.order) == 0 {
		return time.Time{}
	}
	return d.order[0].at
}

// Due removes and returns a deadline that is not after now: the earliest, and of equal ones
// the one that was set first. some is false if there is none.
func (d *Deadlines[K]) Due(now time.Time) (key K, some bool) {
	if d.skip(); len(d.order) == 0 || d.order[0].at.After(now) {
		return key, false
	}
	due := heap.Pop(&d.order).(deadline[K])
	delete(d.current, due.key)
	return due.key, true
}

// skip removes the outdated deadlines at the front.
func (d *Deadlines[K]) skip() {
	for len(d.order) > 0 && d.current[d.order[0].key] != d.order[0].number {
		heap.Pop(&d.order)
	}
}

// compact removes all outdated deadlines. Otherwise a name that is set again and again would make
// the heap grow without bound.
func (d *Deadlines[K]) compact() {
	kept := d.order[:0]
	for _, one := range d.order {
		if d.current[one.key] == one.number {
			kept = append(kept, one)
		}
	}
	clear(d.order[len(kept):])
	d.order = kept
	heap.Init(&d.order)
}

// deadlineHeap is a container/heap by time and number.
type deadlineHeap[K comparable] []deadline[K]

func (h deadlineHeap[K]) Len() int      { return len(h) }
func (h deadlineHeap[K]) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h deadlineHeap[K]) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].number < h[j].number
}
func (h *deadlineHeap[K]) Push(x any) { *h = append(*h, x.(deadline[K])) }
func (h *deadlineHeap[K]) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = deadline[K]{}
	*h = old[:len(old)-1]
	return last
}
