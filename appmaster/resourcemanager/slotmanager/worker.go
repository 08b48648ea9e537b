package slotmanager

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

type workerState int

const (
	expected   workerState = iota + 1 // announced by the provider, not registered yet
	registered                        // its free slots may be granted
	suspended                         // was registered, and its connection is lost
)

type worker struct {
	id        ids.ResourceID
	sequence  int
	state     workerState
	slots     []slot    // none while expected
	used      int       // slots that are not free
	idleSince time.Time // meaningful while used is 0
}

type slotState int

const (
	free     slotState = iota
	pending            // granted, and the worker has not answered yet
	occupied           // the worker holds it for the job
)

// slot is free exactly while it has no allocation.
type slot struct {
	state      slotState
	allocation ids.AllocationID
	job        ids.JobID
	notBefore  time.Time // no grant before this time, after a refusal
}

// Expect announces a worker that will register. A known one is left as it is.
func (m *Manager) Expect(id ids.ResourceID) {
	if m.workers[id] != nil {
		return
	}
	m.dirty = true
	m.sequence++
	w := &worker{id: id, sequence: m.sequence, state: expected}
	m.workers[id] = w
	m.expected = append(m.expected, w)
}

// Register takes in a worker with the slots it reports, all of them. One that
// was registered before has lost what it does not report, grants on their way
// included. An error says what is wrong with the report, and changes nothing.
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
	w := &worker{id: id, sequence: m.sequence, state: registered, slots: make([]slot, len(report)), idleSince: now}
	m.workers[id] = w
	m.registered++
	for _, status := range report {
		if status.Allocation != "" {
			m.occupy(w, status.Index, occupied, status.Allocation, status.Job)
		}
	}
	if w.used < len(w.slots) {
		m.open = add(m.open, w)
	}
	m.watchIdle(w)
	return nil
}

// Suspend takes a registered worker's free slots out of service until it
// registers again or is removed: its connection is lost.
func (m *Manager) Suspend(id ids.ResourceID) {
	w := m.workers[id]
	if w == nil || w.state != registered {
		return
	}
	m.dirty = true
	w.state = suspended
	m.open = remove(m.open, w)
	m.suspended = add(m.suspended, w)
}

// Remove forgets a worker that is gone, and its slots with it.
func (m *Manager) Remove(id ids.ResourceID) {
	if w := m.workers[id]; w != nil {
		m.dirty = true
		m.forget(w)
	}
}

// Report takes in what a registered worker holds, as it sends with heartbeats.
// The worker is right about its slots, except where a grant is still on its way
// to it. An error says what is wrong with the report, and changes nothing.
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
		}
	}
	return nil
}

// check refuses a report that names a slot which is not there, one slot twice,
// or an allocation that another slot has.
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

// Answered takes in a worker's answer to a grant; refused is its reason, or "".
// An answer about another grant than the slot's current one changes nothing.
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

// Freed takes in that a slot is free again. One that has another allocation by
// now stays as it is.
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

// occupy gives a free slot to a job. A worker that it fills may stay in m.open
// until the next grants, where only free slots count.
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
	if w.state == registered {
		m.open = add(remove(m.open, w), w) // a full one may still be there
	}
	if w.used == 0 {
		w.idleSince = now
		m.watchIdle(w)
	}
}

// watchIdle sees to it that an idle worker is looked at in time.
func (m *Manager) watchIdle(w *worker) {
	if w.used == 0 {
		m.nextIdle = earliest(m.nextIdle, w.idleSince.Add(m.config.IdleTimeout))
	}
}

// drop takes a slot's grant out of the books. A job that had the slot asks for another one
// from now on, which nobody has refused.
func (m *Manager) drop(s *slot) {
	if s.state == occupied {
		m.forgive(s.job)
	}
	delete(m.holders, s.allocation)
	if m.held[s.job]--; m.held[s.job] == 0 {
		delete(m.held, s.job)
	}
}

// forget takes a worker out of all books.
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
	m.expected, m.suspended, m.open = remove(m.expected, w), remove(m.suspended, w), remove(m.open, w)
}
