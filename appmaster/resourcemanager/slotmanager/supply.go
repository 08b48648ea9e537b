package slotmanager

import (
	"fmt"
	"slices"
	"time"
)

// releaseUseless gives up workers whose nodes all jobs that are short have set aside. They
// would count as what is to come, and hold the room of others that can serve. Where others
// were refused, those that are there stay until it is known that others can be had: the jobs
// may try them again, and have nothing else. It gives the number of these. Each worker that is
// expected is looked at once, until the jobs or their blocks are other ones.
func (m *Manager) releaseUseless(missing int, short []*job, plan *Plan) (spared int) {
	if !slices.EqualFunc(short, m.last.Short, func(j *job, s Shortage) bool { return j.id == s.Job }) {
		m.screened = 0
	}
	if missing == 0 {
		return 0
	}
	var useless []*worker
	for _, w := range slices.Backward(m.expected) {
		if w.sequence <= m.screened {
			break
		}
		if !m.mayServe(w, short) {
			useless = append(useless, w)
		}
	}
	plan.Strayed = slices.ContainsFunc(useless, func(w *worker) bool { return w.sequence > m.looked })
	m.screened, m.looked = m.sequence, m.sequence
	for _, w := range m.open {
		switch {
		case w.used > 0 || m.mayServe(w, short):
		case m.sparing && !m.tooMany(len(useless)):
			spared++
		default:
			useless = append(useless, w)
		}
	}
	for _, w := range useless {
		plan.Release = append(plan.Release, Release{Worker: w.id, Cause: "all jobs that wait for slots have set its node aside"})
		m.forget(w)
	}
	return spared
}

// resize sets plan.Workers, and gives up the youngest starts where fewer
// workers are needed than are coming. Those that are spared keep nobody's room.
func (m *Manager) resize(now time.Time, missing, spared int, short []*job, plan *Plan) {
	if missing > 0 {
		missing -= m.returning(now, short)
	}
	needed := (max(missing, 0) + m.config.SlotsPerWorker - 1) / m.config.SlotsPerWorker
	if m.config.MaxSlots > 0 {
		needed = min(needed, max(m.maxWorkers()-m.registered+spared, 0))
	}
	for len(m.expected) > needed {
		last := m.expected[len(m.expected)-1]
		plan.Release = append(plan.Release, Release{Worker: last.id, Cause: "not needed any more"})
		m.forget(last)
	}
	plan.Workers = needed - len(m.expected)
}

func (m *Manager) maxWorkers() int { return m.config.MaxSlots / m.config.SlotsPerWorker }

// tooMany tells whether there are more workers than may be, so many of them left out.
func (m *Manager) tooMany(without int) bool {
	return m.config.MaxSlots > 0 && m.registered+len(m.expected)-without > m.maxWorkers()
}

// returning counts slots that are free but cannot be granted yet, to jobs that are short:
// of workers whose connection is lost, and refused ones. To ask for workers in their stead
// would be rash, as either comes back or goes for good soon.
func (m *Manager) returning(now time.Time, short []*job) (slots int) {
	for _, w := range m.suspended {
		if m.mayServe(w, short) {
			slots += len(w.slots) - w.used
		}
	}
	for _, w := range m.open {
		refused := 0
		for _, s := range w.slots {
			if s.state == free && now.Before(s.notBefore) {
				refused++
			}
		}
		if refused > 0 && m.mayServe(w, short) {
			slots += refused
		}
	}
	return slots
}

// releaseIdle gives up workers that have been idle for too long, unless a job that is
// short may get their slots, which were refused a moment ago, or may have to: see
// releaseUseless. It looks at them only when one may be due.
func (m *Manager) releaseIdle(now time.Time, short []*job, plan *Plan) {
	if m.nextIdle.IsZero() || now.Before(m.nextIdle) {
		return
	}
	m.nextIdle = time.Time{}
	var idle []*worker
	for _, w := range m.open {
		switch {
		case w.used > 0:
		case now.Before(w.idleSince.Add(m.config.IdleTimeout)), m.mayServe(w, short), m.sparing && len(short) > 0:
			m.nextIdle = earliest(m.nextIdle, w.idleSince.Add(m.config.IdleTimeout))
		default:
			idle = append(idle, w)
		}
	}
	for _, w := range idle {
		plan.Release = append(plan.Release, Release{
			Worker: w.id,
			Cause:  fmt.Sprintf("idle for %v (resourcemanager.taskmanager-timeout)", m.config.IdleTimeout),
		})
		m.forget(w)
	}
}

// mayServe tells whether some job that is short takes slots of a worker.
func (m *Manager) mayServe(w *worker, short []*job) bool {
	return slices.ContainsFunc(short, func(j *job) bool { return !m.blocks(j.id, w.id) })
}
