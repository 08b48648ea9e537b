package slotpool

import (
	"slices"
	"time"
)

// Wait makes a region wait for slots.
func (p *Pool) Wait(r int) {
	if at, waits := slices.BinarySearch(p.waiting, r); !waits {
		p.waiting = slices.Insert(p.waiting, at, r)
	}
}

// Block says that a region waits for its inputs. It must not run, and does not wait for slots. The job still needs slots for it, but
// has them early enough when the inputs are there.
func (p *Pool) Block(r int, now time.Time) { p.setBlocked(r, true, now) }

// Unblock says that a region has its inputs.
func (p *Pool) Unblock(r int, now time.Time) { p.setBlocked(r, false, now) }

func (p *Pool) setBlocked(r int, blocked bool, now time.Time) {
	if p.regions[r].blocked == blocked {
		return
	}
	if at, waits := slices.BinarySearch(p.waiting, r); waits {
		p.waiting = slices.Delete(p.waiting, at, at+1)
	}
	p.count(r, -1)
	p.regions[r].blocked = blocked
	p.count(r, +1)
	p.watch(now)
}

// Again says that a region runs again, though it has finished perhaps.
func (p *Pool) Again(r int, now time.Time) {
	if p.regions[r].finished {
		p.begin(r)
		p.watch(now)
	}
}

// Waiting is the number of regions that wait for slots, without those that were added.
func (p *Pool) Waiting() int { return len(p.waiting) }

// StopWaiting takes all regions out of the queue, but those that were added, and lists them.
func (p *Pool) StopWaiting() []int {
	waiting := p.waiting
	p.waiting = nil
	return waiting
}

// Assign gives slots with a ready worker to waiting regions, in their order, and lists the regions
// that can run now. A region gets all of its slots or none. Those that were added come last.
func (p *Pool) Assign() []int {
	if !p.starved.IsZero() {
		return nil
	}
	defer func() {
		for k := range p.kinds {
			p.kinds[k].loads = nil
		}
	}()
	var started, more []int
	started, p.waiting = p.assign(p.waiting)
	more, p.added.waiting = p.assign(p.added.waiting)
	return append(started, more...)
}

// assign gives slots to the regions of a queue. It gives the regions that can run now, and the rest of the queue.
func (p *Pool) assign(queue []int) (started, kept []int) {
	kept = queue[:0]
	for i, r := range queue {
		if !p.overlaps && !p.someUsable() { // no other region can start
			if len(kept) == 0 {
				return started, queue[i:]
			}
			return started, append(kept, queue[i:]...)
		}
		if p.fits(r) {
			p.start(r)
			started = append(started, r)
		} else {
			kept = append(kept, r)
		}
	}
	return started, kept
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
	p.count(r, -1)
	p.regions[r].finished, p.regions[r].blocked = true, false
	for _, i := range p.regions[r].shared {
		p.needsLess(i)
	}
	p.watch(now)
}

// needsLess says that one unfinished region less needs a shared slot.
func (p *Pool) needsLess(i int) {
	if p.shared[i].open--; p.shared[i].open == 0 {
		p.kinds[p.shared[i].kind].Required--
	}
}

// Narrow says that a region needs only these of its shared slots, ascending, because its tasks in the others
// never run again. tasks has the number of its tasks in each of them: see Balance. The region has not finished,
// and runs no task now.
func (p *Pool) Narrow(r int, shared, tasks []int, now time.Time) {
	region := &p.regions[r]
	for _, i := range region.shared {
		if _, stays := slices.BinarySearch(shared, i); !stays {
			p.needsLess(i)
		}
	}
	p.count(r, -1)
	region.shared, region.shape = shared, p.shapeOf(shared)
	p.count(r, +1)
	if p.tasks != nil {
		p.tasks[r] = tasks
	}
	p.watch(now)
}
