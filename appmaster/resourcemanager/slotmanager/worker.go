package slotmanager

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

type workerState int

const (
	expected   workerState = iota + 1 // announced by the provider, not registered yet
	registered                        // its free slots may be granted
	suspended                         // its connection is lost
)

type worker struct {
	id        ids.ResourceID
	sequence  int
	state     workerState
	slots     []slot    // none while expected
	used      int       // slots that are not free
	rank      int       // in Manager.open; noRank: it is not there
	idleSince time.Time // only valid while used is 0
	serving   bool      // see Serves
}

type slotState int

const (
	free     slotState = iota
	pending            // granted, and the worker has not answered yet
	occupied           // the worker holds it for the job
)

// slot has an allocation unless it is free.
type slot struct {
	state      slotState
	allocation ids.AllocationID
	job        ids.JobID
	notBefore  time.Time // no grant before this time, after a refusal
}

// Expect adds a worker that will register. It does nothing for a known worker.
func (m *Manager) Expect(id ids.ResourceID) {
	if m.workers[id] != nil {
		return
	}
	m.dirty = true
	m.sequence++
	w := &worker{id: id, sequence: m.sequence, state: expected, rank: noRank}
	m.workers[id] = w
	m.expected = append(m.expected, w)
}

// Register adds a worker with its report of all its slots. If the worker was registered before, it
// loses the slots that it does not report, and grants that are on their way. An error says what is
// wrong with the report, and nothing has changed.
func (m *Manager) Register(now time.Time, id ids.ResourceID, report []msg.SlotStatus) error {
	if len(report) != m.config.SlotsPerWorker {
		return fmt.Errorf("register worker %s: it has %d slots instead of %d", id, len(report), m.config.SlotsPerWorker)
	}
	if err := m.check(id, len(report), report); err != nil {
		return fmt.Errorf("register worker %s: %w", id, err)
	}
	m.dirty = true
	if old := m.workers[id]; old != nil {
		m.forget(old)
	}
	m.sequence++
	w := &worker{id: id, sequence: m.sequence, state: registered, slots: make([]slot, len(report)), idleSince: now, rank: noRank}
	m.workers[id] = w
	m.registered++
	for _, status := range report {
		if status.Allocation != "" {
			m.occupy(w, status.Index, occupied, status.Allocation, status.Job)
		}
	}
	m.open.place(w)
	m.watchIdle(w)
	return nil
}

// Suspend disables a registered worker's free slots until the worker registers again or is removed:
// its connection is lost.
func (m *Manager) Suspend(id ids.ResourceID) {
	w := m.workers[id]
	if w == nil || w.state != registered {
		return
	}
	m.dirty = true
	w.state = suspended
	m.open.place(w)
	m.suspended = add(m.suspended, w)
}

// Remove removes a worker that is gone, with its slots.
func (m *Manager) Remove(id ids.ResourceID) {
	if w := m.workers[id]; w != nil {
		m.dirty = true
		m.forget(w)
	}
}

// Report updates the slots of a registered worker from its report, which comes with heartbeats. The
// report decides about each slot, unless a grant is on its way to the worker. An error says what is
// wrong with the report, and nothing has changed.
func (m *Manager) Report(now time.Time, id ids.ResourceID, report []msg.SlotStatus) error {
	w := m.workers[id]
	if w == nil || w.state != registered {
		return nil
	}
	if err := m.check(id, len(w.slots), report); err != nil {
		return fmt.Errorf("take slot report of worker %s: %w", id, err)
	}
	for _, status := range report {
		s := &w.slots[status.Index]
		switch {
		case status.Allocation == s.allocation:
			if s.state == pending {
				m.accept(s)
			}
		case status.Allocation == "":
			if s.state == occupied {
				m.vacate(now, w, status.Index)
			}
		default:
			m.vacate(now, w, status.Index)
			m.occupy(w, status.Index, occupied, status.Allocation, status.Job)
			m.open.place(w)
		}
	}
	return nil
}

// Serves says whether a registered worker serves data that jobs may still read, as the worker reports. It is not released as idle
// before IdleTimeout has passed since it served some, nor because jobs have set its node aside, nor to make room for workers with
// slots of another size.
func (m *Manager) Serves(now time.Time, id ids.ResourceID, serves bool) {
	w := m.workers[id]
	if w == nil || w.serving == serves {
		return
	}
	m.dirty = true
	if w.serving = serves; !serves {
		w.idleSince = now
		m.watchIdle(w)
	}
}

// check refuses a report that names a slot that does not exist, a slot twice, or an allocation that
// another slot has.
func (m *Manager) check(id ids.ResourceID, slots int, report []msg.SlotStatus) error {
	seen := make([]bool, slots)
	allocations := make(map[ids.AllocationID]bool, len(report))
	for _, s := range report {
		switch holder, held := m.holders[s.Allocation]; {
		case s.Index < 0 || s.Index >= slots:
			return fmt.Errorf("it reports slot %d and has %d slots", s.Index, slots)
		case seen[s.Index]:
			return fmt.Errorf("it reports slot %d twice", s.Index)
		case s.Allocation == "":
		case allocations[s.Allocation]:
			return fmt.Errorf("it reports allocation %s in two slots", s.Allocation)
		case held && holder != (ids.SlotID{Resource: id, Index: s.Index}):
			return fmt.Errorf("it reports allocation %s, which slot %s holds", s.Allocation, holder)
		}
		seen[s.Index] = true
		allocations[s.Allocation] = s.Allocation != ""
	}
	return nil
}

// Answered handles a worker's answer to a grant; refused is the reason of a refusal, or "". It
// ignores answers to other grants than the slot's current one.
func (m *Manager) Answered(now time.Time, id ids.SlotID, allocation ids.AllocationID, refused string) {
	w, s := m.slot(id, allocation)
	if s == nil || s.state != pending {
		return
	}
	if refused == "" {
		m.accept(s)
		return
	}
	if j := m.job(s.job); j != nil {
		j.refusals++
		j.refusal = refused
	}
	m.vacate(now, w, id.Index)
	s.notBefore = now.Add(refusalPause)
}

// Freed handles that a worker has freed a slot. It ignores a slot that has another allocation
// meanwhile.
func (m *Manager) Freed(now time.Time, id ids.SlotID, allocation ids.AllocationID) {
	if w, s := m.slot(id, allocation); s != nil {
		m.vacate(now, w, id.Index)
	}
}

// slot finds the slot that holds this allocation, or gives nil.
func (m *Manager) slot(id ids.SlotID, allocation ids.AllocationID) (*worker, *slot) {
	if holder, held := m.holders[allocation]; !held || holder != id {
		return nil, nil
	}
	w := m.workers[id.Resource]
	return w, &w.slots[id.Index]
}

func (m *Manager) accept(s *slot) {
	s.state = occupied
	m.forgive(s.job)
}

// occupy gives a free slot to a job. The caller then places the worker in m.open.
func (m *Manager) occupy(w *worker, index int, state slotState, allocation ids.AllocationID, job ids.JobID) {
	m.dirty = true
	w.slots[index] = slot{state: state, allocation: allocation, job: job}
	w.used++
	m.held[job]++
	m.holders[allocation] = ids.SlotID{Resource: w.id, Index: index}
}

// vacate frees a slot, if it is not free.
func (m *Manager) vacate(now time.Time, w *worker, index int) {
	s := &w.slots[index]
	if s.state == free {
		return
	}
	m.dirty = true
	m.drop(s)
	*s = slot{}
	w.used--
	m.open.place(w)
	if w.used == 0 {
		w.idleSince = now
		m.watchIdle(w)
	}
}

// watchIdle makes sure that releaseIdle looks at an idle worker in time.
func (m *Manager) watchIdle(w *worker) {
	if w.used == 0 {
		m.nextIdle = actor.Earliest(m.nextIdle, w.idleSince.Add(m.config.IdleTimeout))
	}
}

// drop removes a slot's grant. If the job had the slot, it asks for another one from now on, and
// its earlier refusals count no more.
func (m *Manager) drop(s *slot) {
	if s.state == occupied {
		m.forgive(s.job)
	}
	delete(m.holders, s.allocation)
	if m.held[s.job]--; m.held[s.job] == 0 {
		delete(m.held, s.job)
	}
}

// forget removes a worker from all tables.
func (m *Manager) forget(w *worker) {
	for i := range w.slots {
		if w.slots[i].state != free {
			m.drop(&w.slots[i])
		}
	}
	if w.state != expected {
		m.registered--
	}
	delete(m.workers, w.id)
	m.expected, m.suspended = remove(m.expected, w), remove(m.suspended, w)
	m.open.remove(w)
}
