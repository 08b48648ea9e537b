package slotpool

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

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
			freed = append(freed, p.giveUp(s))
		}
	}
	return freed
}

// GiveUpFree removes all slots in which nothing runs, and returns them, so that the caller can give them back to their
// workers. The job still needs as many slots.
func (p *Pool) GiveUpFree(now time.Time) []Slot {
	var all queue
	for k := range p.kinds {
		all = append(all, p.kinds[k].free...)
	}
	return p.giveUpFree(all, now)
}

// GiveUpFreeOf removes the slots of a worker in which nothing runs, as GiveUpFree does.
func (p *Pool) GiveUpFreeOf(resource ids.ResourceID, now time.Time) []Slot {
	if w := p.workers[resource]; w != nil {
		return p.giveUpFree(slices.Clone(w.slots), now)
	}
	return nil
}

// giveUpFree removes those of these slots in which nothing runs.
func (p *Pool) giveUpFree(of queue, now time.Time) (freed []Slot) {
	for _, s := range of {
		if s.users == 0 {
			freed = append(freed, p.giveUp(s))
		}
	}
	p.watch(now)
	return freed
}

// giveUp removes a free slot.
func (p *Pool) giveUp(s *slot) Slot {
	p.drop(s)
	s.worker.slots.remove(s)
	p.dropIfUnknown(s.Resource)
	return s.Slot
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
		stock.Least, stock.Part, stock.Later = 0, 0, 0
	}
	for _, s := range p.shapes {
		for k, n := range s.needs {
			if s.open > s.ready {
				p.kinds[k].Later = max(p.kinds[k].Later, n)
			}
		}
	}
	if s := p.largest(); s != nil {
		for k, n := range s.needs {
			p.kinds[k].Part = n
		}
	}
	some, idle := false, true // idle: all unfinished regions wait for their inputs
	for s := range p.counted() {
		idle = idle && s.ready == 0
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
	case some || idle:
		p.starved = time.Time{}
	case p.starved.IsZero():
		p.starved = now
	}
}
