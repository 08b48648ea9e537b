package slotmanager

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// model is a naive account of the same facts: a list of the slots of every worker, which each
// question searches completely.
type model struct {
	config   Config
	now      time.Time
	manager  *Manager
	declared map[ids.JobID]int
	least    map[ids.JobID]int
	shares   map[ids.JobID]Share // of jobs that have less than Everything
	limit    int                 // the last one; only valid if config.Most is not 0
	workers  map[ids.ResourceID]*modelWorker
	lastID   int
	lastCame int
	granted  map[ids.AllocationID]bool // ever

	blocked   map[ids.JobID]map[ids.ResourceID]bool
	exhausted map[ids.JobID]bool
	refusal   string // why no more workers can come; or ""
	refused   bool   // true from Refuse until Taken
	looked    int    // the newest worker when slots were last missing
	spares    bool   // were wanted at the last reconciliation
	spared    time.Time
}

func (m *model) Blocks(job ids.JobID, worker ids.ResourceID) bool { return m.blocked[job][worker] }
func (m *model) Exhausted(job ids.JobID) bool                     { return m.exhausted[job] }

func (m *model) Empty() bool {
	for _, workers := range m.blocked {
		for _, blocked := range workers {
			if blocked {
				return false
			}
		}
	}
	return true
}

type modelWorker struct {
	state workerState
	order int // of the announcement
	came  int // the number of its registration
	slots []modelSlot
	idle  time.Time

	serves bool
}

type modelSlot struct {
	allocation ids.AllocationID
	job        ids.JobID
	pending    bool
	notBefore  time.Time
}

func (w *modelWorker) used() int {
	n := 0
	for _, s := range w.slots {
		if s.allocation != "" {
			n++
		}
	}
	return n
}

func (m *model) held(job ids.JobID) int {
	n := 0
	for _, w := range m.workers {
		for _, s := range w.slots {
			if s.allocation != "" && s.job == job {
				n++
			}
		}
	}
	return n
}

// share is the Share of a job.
func (m *model) share(job ids.JobID) Share {
	if s, ok := m.shares[job]; ok {
		return s
	}
	return Everything
}

// orders counts the slots that a job lacks and may order.
func (m *model) orders(job ids.JobID) int {
	return max(min(m.declared[job], m.share(job).Order)-m.held(job), 0)
}

// missing counts the missing slots that new workers could provide: those that jobs may order, without the free ones
// that are there but that the jobs may not have now.
func (m *model) missing() int {
	n, later := 0, 0
	var waiting []ids.JobID
	for job, declared := range m.declared {
		if m.exhausted[job] {
			continue
		}
		n += m.orders(job)
		if kept := min(m.orders(job), declared-m.share(job).Hold); kept > 0 {
			later += kept
			waiting = append(waiting, job)
		}
	}
	free := 0
	for id, w := range m.workers {
		accepted := slices.ContainsFunc(waiting, func(job ids.JobID) bool { return !m.blocked[job][id] })
		for _, s := range w.slots {
			if w.state == registered && accepted && s.allocation == "" && !m.now.Before(s.notBefore) {
				free++
			}
		}
	}
	return max(n-min(later, free), 0)
}

// served tells whether a job would accept a slot of a worker, and may have it now.
func (m *model) served(worker ids.ResourceID) bool {
	for job, declared := range m.declared {
		if min(declared, m.share(job).Hold) > m.held(job) && !m.blocked[job][worker] {
			return true
		}
	}
	return false
}

// ordered tells whether a job that may order slots would accept a slot of a worker.
func (m *model) ordered(worker ids.ResourceID) bool {
	for job := range m.declared {
		if m.orders(job) > 0 && !m.blocked[job][worker] {
			return true
		}
	}
	return false
}

// wanted tells whether a job that lacks slots would accept a slot of a worker.
func (m *model) wanted(worker ids.ResourceID) bool {
	for job, declared := range m.declared {
		if declared > m.held(job) && !m.blocked[job][worker] {
			return true
		}
	}
	return false
}

// lacking tells whether some job lacks slots.
func (m *model) lacking() bool {
	for job, declared := range m.declared {
		if declared > m.held(job) {
			return true
		}
	}
	return false
}

// accepted tells whether a job with requirements would accept a slot of a worker.
func (m *model) accepted(worker ids.ResourceID) bool {
	for job, declared := range m.declared {
		if declared > 0 && !m.blocked[job][worker] {
			return true
		}
	}
	return false
}

// spareSlots counts how many slots must be free as spares.
func (m *model) spareSlots() int {
	for job, declared := range m.declared {
		if declared > 0 && !m.exhausted[job] {
			return m.config.Redundant * m.config.SlotsPerWorker
		}
	}
	return 0
}

// freeFor counts the free slots that some job with requirements would accept.
func (m *model) freeFor() int {
	n := 0
	for id, w := range m.workers {
		if w.state != expected && m.accepted(id) {
			n += len(w.slots) - w.used()
		}
	}
	return n
}

// first checks that no other worker should have given this slot.
func (m *model) first(t *rapid.T, g Grant) {
	rank := func(w *modelWorker) int {
		switch {
		case m.config.Spread:
			return w.used()
		case w.used() > 0:
			return 0
		default:
			return 1
		}
	}
	chosen := m.workers[g.Slot.Resource]
	for id, w := range m.workers {
		gives := w.state == registered && !m.blocked[g.Job][id] && slices.ContainsFunc(w.slots, func(s modelSlot) bool {
			return s.allocation == "" && !m.now.Before(s.notBefore)
		})
		if gives && (rank(w) < rank(chosen) || rank(w) == rank(chosen) && w.came < chosen.came) {
			t.Fatalf("slot %s is granted, where %d slots are in use; worker %s, where %d are in use, comes first",
				g.Slot, chosen.used(), id, w.used())
		}
	}
}

// supply counts the slots that a job could have, whichever job has them now.
func (m *model) supply(job ids.JobID) int {
	n := 0
	for id, w := range m.workers {
		for i := range m.config.SlotsPerWorker {
			if !m.blocked[job][id] || i < len(w.slots) && w.slots[i].allocation != "" && w.slots[i].job == job {
				n++
			}
		}
	}
	return n
}

func (m *model) free(w *modelWorker, index int) {
	if w.slots[index].allocation == "" {
		return
	}
	w.slots[index] = modelSlot{}
	if w.used() == 0 {
		w.idle = m.now
	}
}
