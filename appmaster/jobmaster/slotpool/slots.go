package slotpool

import (
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

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
