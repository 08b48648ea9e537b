package slotmanager

import (
	"slices"
	"time"
)

// spareSlots is how many slots must be free as spares: none while no job has requirements that a new
// worker could serve.
func (m *Manager) spareSlots() int {
	if m.config.Redundant == 0 || !slices.ContainsFunc(m.jobs, func(j *job) bool { return !m.exhausted(j.id) }) {
		return 0
	}
	return m.config.Redundant * m.config.SlotsPerWorker
}

// missingSpares is how many further slots must be free as spares, if jobs take some of the free slots.
func (m *Manager) missingSpares(taken int) int {
	wanted := m.spareSlots()
	if wanted == 0 {
		return 0
	}
	return max(wanted-m.freeSlots()+taken, 0)
}

// freeSlots counts the free slots that could serve some job. Those of suspended workers count: they
// return soon, or the worker is lost soon.
func (m *Manager) freeSlots() (slots int) {
	if m.acceptsAll() {
		return m.registered*m.config.SlotsPerWorker - len(m.holders)
	}
	count := func(w *worker) {
		if m.mayServe(w, m.jobs) {
			slots += len(w.slots) - w.used
		}
	}
	for w := range m.open.all() {
		count(w)
	}
	for _, w := range m.suspended {
		count(w)
	}
	return slots
}

// watchSpares notes until when unused workers were spares. Their IdleTimeout begins then, so that the
// next job of a session finds them.
func (m *Manager) watchSpares(now time.Time) {
	kept := m.spareSlots() > 0
	if m.spares && !kept {
		m.sparedUntil = now
	}
	m.spares = kept
}

// Kept are the numbers of registered workers without a used slot that stay, for users who ask why. A
// worker may stay for both reasons.
type Kept struct {
	Spares int // because of Config.Redundant
	Floor  int // because of Config.Least
}

// Kept returns them.
func (m *Manager) Kept() (kept Kept) {
	unused, useful := len(m.open.unused()), 0
	for _, w := range m.open.unused() {
		if m.mayServe(w, m.jobs) {
			useful++
		}
	}
	kept.Floor = min(unused, max(m.config.Least-(m.registered-unused), 0))
	if wanted := m.spareSlots(); wanted > 0 {
		per := m.config.SlotsPerWorker
		others := m.freeSlots() - useful*per // on used workers
		kept.Spares = min(useful, (max(wanted-others, 0)+per-1)/per)
	}
	return kept
}

// surplus is what the cluster can lose and still have its floor and its spares.
type surplus struct {
	*Manager
	workers int
	slots   int  // that could serve some job
	all     bool // no spares are wanted: slots do not count
}

func (m *Manager) surplus() surplus {
	s := surplus{Manager: m, workers: m.registered - m.config.Least}
	wanted := m.spareSlots()
	if s.all = wanted == 0; !s.all {
		s.slots = m.freeSlots() - wanted
	}
	return s
}

// none tells whether the cluster can lose no worker.
func (s *surplus) none() bool {
	short := !s.all && s.slots < s.config.SlotsPerWorker && s.acceptsAll()
	return s.workers <= 0 || short
}

// spend takes an unused worker from the surplus, or tells that the cluster must keep it.
func (s *surplus) spend(w *worker) bool {
	counts := !s.all && s.mayServe(w, s.jobs)
	if s.workers <= 0 || counts && s.slots < s.config.SlotsPerWorker {
		return false
	}
	s.workers--
	if counts {
		s.slots -= s.config.SlotsPerWorker
	}
	return true
}
