package slotmanager

import (
	"math"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// A cluster may have several Managers, one for each kind of workers, which share one ceiling and the room in
// YARN. The functions in this file tell what a Manager has, and bound what it does.

// Share bounds what a job gets for now.
type Share struct {
	Hold  int // slots that the job may have; more are not granted
	Order int // slots for which workers may be requested, those that the job has included
}

// Everything is the Share of a job that may get all slots that it declares.
var Everything = Share{math.MaxInt, math.MaxInt} //nolint:gochecknoglobals // a constant

// SetShare sets the Share of a job with requirements. Before the first call it is Everything.
func (m *Manager) SetShare(id ids.JobID, share Share) {
	if j := m.job(id); j != nil && j.share != share {
		j.share, m.dirty = share, true
	}
}

// orders is the number of slots that a job lacks and may order.
func (m *Manager) orders(j *job) int { return max(min(j.declared, j.share.Order)-m.held[j.id], 0) }

// grantable counts the free slots that could be granted to one of these jobs now.
func (m *Manager) grantable(now time.Time, to []*job) (slots int) {
	for w := range m.open.all() {
		if !m.mayServe(w, to) {
			continue
		}
		for _, s := range w.slots {
			if s.state == free && !now.Before(s.notBefore) {
				slots++
			}
		}
	}
	return slots
}

// Stock is what a Manager has.
type Stock struct {
	Workers int // registered and expected ones
	Used    int // registered ones that make no room: jobs have slots there, they serve data, or the connection is lost
	Held    int // slots that jobs have
	Free    int // slots that can be granted
}

// Stock returns it.
func (m *Manager) Stock(now time.Time) Stock {
	s := Stock{Workers: m.registered + len(m.expected), Used: m.registered, Held: len(m.holders), Free: m.grantable(now, m.jobs)}
	for _, w := range m.open.unused() {
		if !w.serving {
			s.Used--
		}
	}
	return s
}

// Expected is the number of workers that will register.
func (m *Manager) Expected() int { return len(m.expected) }

// Registered is the number of workers that are registered, or whose connection is lost.
func (m *Manager) Registered() int { return m.registered }

// Dirty tells whether something has changed since the last Reconcile.
func (m *Manager) Dirty() bool { return m.dirty }

// Limit sets how many workers there may be now: Config.Most, or fewer if other workers take a part of
// the ceiling. Then unused workers above it are released at once, unless they serve data. It has no effect if Config.Most is 0.
func (m *Manager) Limit(workers int) {
	m.dirty = m.dirty || m.limit != workers
	m.limit = workers
}

// makeRoom releases the youngest unused workers above Limit, if that is below Config.Most. It keeps workers that serve data: the job
// that needs the room may be the one that reads the data, and then it would have to write them again.
func (m *Manager) makeRoom(plan *Plan) {
	if m.limit >= m.config.Most {
		return
	}
	for _, w := range slices.Backward(slices.Clone(m.open.unused())) {
		if m.registered <= m.limit {
			return
		}
		if !w.serving {
			plan.Release = append(plan.Release, Release{Worker: w.id, Cause: "makes room for workers with slots of another size"})
			m.forget(w)
		}
	}
}
