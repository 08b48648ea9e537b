package slotmanager

import (
	"fmt"
	"slices"
	"time"
)

// resize sets plan.Workers, and gives up the youngest starts where fewer
// workers are needed than are coming.
func (m *Manager) resize(now time.Time, missing int, plan *Plan) {
	if missing > 0 {
		missing -= m.returning(now)
	}
	needed := (max(missing, 0) + m.config.SlotsPerWorker - 1) / m.config.SlotsPerWorker
	if m.config.MaxSlots > 0 {
		needed = min(needed, max(m.maxWorkers()-m.registered, 0))
	}
	for len(m.expected) > needed {
		last := m.expected[len(m.expected)-1]
		plan.Release = append(plan.Release, Release{Worker: last.id, Cause: "not needed any more"})
		m.forget(last)
	}
	plan.Workers = needed - len(m.expected)
}

func (m *Manager) maxWorkers() int { return m.config.MaxSlots / m.config.SlotsPerWorker }

// returning counts slots that are free but cannot be granted yet: of workers
// whose connection is lost, and refused ones. To ask for workers in their stead
// would be rash, as either comes back or goes for good soon.
func (m *Manager) returning(now time.Time) (slots int) {
	for _, w := range m.suspended {
		slots += len(w.slots) - w.used
	}
	for _, w := range m.open {
		for _, s := range w.slots {
			if s.state == free && now.Before(s.notBefore) {
				slots++
			}
		}
	}
	return slots
}

// releaseIdle gives up workers that have been idle for too long, unless a job that is
// short may get their slots: they were refused a moment ago. One that all such jobs block
// would stand in the way of another. It looks at them only when one may be due.
func (m *Manager) releaseIdle(now time.Time, plan *Plan) {
	if m.nextIdle.IsZero() || now.Before(m.nextIdle) {
		return
	}
	m.nextIdle = time.Time{}
	var idle []*worker
	for _, w := range m.open {
		switch {
		case w.used > 0:
		case now.Before(w.idleSince.Add(m.config.IdleTimeout)), m.mayServe(w, plan.Short):
			m.nextIdle = earliest(m.nextIdle, w.idleSince.Add(m.config.IdleTimeout))
		default:
			idle = append(idle, w)
		}
	}
	for _, w := range idle {
		plan.Release = append(plan.Release, Release{
			Worker: w.id,
			Cause:  fmt.Sprintf("idle for resourcemanager.taskmanager-timeout %v", m.config.IdleTimeout),
		})
		m.forget(w)
	}
}

// mayServe tells whether some job that is short takes slots of a worker.
func (m *Manager) mayServe(w *worker, short []Shortage) bool {
	return slices.ContainsFunc(short, func(s Shortage) bool { return !m.blocks(s.Job, w.id) })
}
