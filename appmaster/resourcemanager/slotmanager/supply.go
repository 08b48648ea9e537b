package slotmanager

import (
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/actor"
)

// releaseUseless gives up workers on nodes that all jobs of plan.For have set aside. Such workers
// would count as supply, and take the room of workers that could serve. But after a refusal, until
// Taken, it keeps registered workers that are useless now and returns their number: the jobs may try
// their nodes again, and no other workers may come. It also keeps registered workers while only
// spares are missing, and those that serve data: jobs avoid the node of a slow task, and still read what its workers have.
// It looks at each expected worker once, until the jobs or their blocks change.
func (m *Manager) releaseUseless(missing int, short []*job, plan *Plan) (spared int) {
	var served []*job
	cause := "all jobs that wait for slots have set its node aside"
	switch {
	case missing > 0:
		served = short
	case m.missingSpares(0) > 0:
		served, cause = m.jobs, "all jobs have set its node aside"
	}
	for _, j := range served {
		plan.For = append(plan.For, j.id)
	}
	if !slices.Equal(plan.For, m.last.For) {
		m.screened = 0
	}
	if len(served) == 0 {
		return 0
	}
	var useless []*worker
	for _, w := range slices.Backward(m.expected) {
		if w.sequence <= m.screened {
			break
		}
		if !m.mayServe(w, served) {
			useless = append(useless, w)
		}
	}
	plan.Strayed = slices.ContainsFunc(useless, func(w *worker) bool { return w.sequence > m.looked })
	m.screened, m.looked = m.sequence, m.sequence
	for _, w := range m.open.unused() {
		switch {
		case missing == 0, w.serving, m.mayServe(w, served):
		case m.sparing && !m.tooMany(len(useless)):
			spared++
		default:
			useless = append(useless, w)
		}
	}
	for _, w := range useless {
		plan.Release = append(plan.Release, Release{Worker: w.id, Cause: cause})
		m.forget(w)
	}
	return spared
}

// resize sets plan.Workers, and gives up the youngest starts if more workers are expected than
// needed: for missing slots, for missing spares, and for the floor. spared is the number of registered
// workers that releaseUseless keeps although they are useless now. They do not count against the
// ceiling.
func (m *Manager) resize(now time.Time, missing, spared int, short []*job, plan *Plan) {
	returning := 0
	if missing > 0 {
		returning = min(m.returning(now, short), missing)
	}
	slots := missing - returning + m.missingSpares(returning)
	needed := max((slots+m.config.SlotsPerWorker-1)/m.config.SlotsPerWorker, m.config.Least-m.registered)
	if m.config.Most != 0 {
		needed = max(min(needed, m.limit-m.registered+spared), 0)
	}
	for len(m.expected) > needed {
		last := m.expected[len(m.expected)-1]
		plan.Release = append(plan.Release, Release{Worker: last.id, Cause: "not needed any more"})
		m.forget(last)
	}
	plan.Workers = needed - len(m.expected)
}

// tooMany tells whether there are more workers than Most allows, without this number of them.
func (m *Manager) tooMany(without int) bool {
	return m.config.Most != 0 && m.registered+len(m.expected)-without > m.limit
}

// returning counts free slots that cannot be granted yet but would serve jobs that are short: slots
// of suspended workers, and slots that were refused a moment ago. The Manager requests no workers
// in place of these slots, because they come back soon or are lost soon.
func (m *Manager) returning(now time.Time, short []*job) (slots int) {
	for _, w := range m.suspended {
		if m.mayServe(w, short) {
			slots += len(w.slots) - w.used
		}
	}
	for w := range m.open.all() {
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

// releaseIdle gives up workers that were idle for IdleTimeout, the youngest first. It keeps a worker
// if a job that is short may take its slots later, because they were refused a moment ago, or because
// no other workers may come (see releaseUseless), or if the worker serves data. It also keeps spares, and the floor. It does nothing
// until the first worker may be due. It returns when the next one may be due; zero: never. A worker
// that it keeps does not hide a later one, which may be useless as a spare.
func (m *Manager) releaseIdle(now time.Time, short []*job, plan *Plan) (next time.Time) {
	if m.nextIdle.IsZero() || now.Before(m.nextIdle) {
		return m.nextIdle
	}
	left := m.surplus()
	if left.none() {
		return time.Time{}
	}
	m.nextIdle = time.Time{}
	ordering := slices.DeleteFunc(slices.Clone(short), func(j *job) bool { return m.orders(j) == 0 })
	var idle []*worker
	for _, w := range slices.Backward(m.open.unused()) {
		if w.serving {
			continue // Serves watches it from its end on
		}
		due := actor.Latest(w.idleSince, m.sparedUntil).Add(m.config.IdleTimeout)
		if now.Before(due) || m.mayServe(w, ordering) || m.sparing && len(short) > 0 || !left.spend(w) {
			m.nextIdle = actor.Earliest(m.nextIdle, due)
			if now.Before(due) {
				next = actor.Earliest(next, due)
			}
			continue
		}
		idle = append(idle, w)
	}
	for _, w := range slices.Backward(idle) {
		plan.Release = append(plan.Release, Release{
			Worker: w.id,
			Cause:  fmt.Sprintf("idle for %v (resourcemanager.taskmanager-timeout)", m.config.IdleTimeout),
		})
		m.forget(w)
	}
	return next
}

// mayServe tells whether some job that is short accepts slots of a worker.
func (m *Manager) mayServe(w *worker, short []*job) bool {
	return slices.ContainsFunc(short, func(j *job) bool { return !m.blocks(j.id, w.id) })
}
