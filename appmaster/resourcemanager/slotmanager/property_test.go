package slotmanager

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Wrong accounts of free, held or expected slots show here: as a slot given twice, one worker too
// many or too few, or an idle worker that is kept.
func TestManagerAgreesWithANaiveModelUnderAnyEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		config := Config{
			SlotsPerWorker: rapid.IntRange(1, 3).Draw(t, "slots per worker"),
			IdleTimeout:    idleTimeout,
		}
		config.Most = rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "most workers")
		config.MostBy = "the ceiling"
		config.Least = rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "least workers")
		if config.Most > 0 {
			config.Least = min(config.Least, config.Most)
		}
		config.Redundant = rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "redundant workers")
		config.Spread = rapid.Bool().Draw(t, "spread")
		m := &model{
			now:       time.Unix(1_000_000, 0),
			declared:  make(map[ids.JobID]int),
			least:     make(map[ids.JobID]int),
			shares:    make(map[ids.JobID]Share),
			limit:     config.Most,
			workers:   make(map[ids.ResourceID]*modelWorker),
			granted:   make(map[ids.AllocationID]bool),
			blocked:   make(map[ids.JobID]map[ids.ResourceID]bool),
			exhausted: make(map[ids.JobID]bool),
		}
		config.Blocklist = m
		m.config, m.manager = config, New(config, sequence("test"))
		t.Repeat(map[string]func(*rapid.T){
			"declare":     m.declare,
			"share":       m.setShare,
			"limit":       m.setLimit,
			"block":       m.block,
			"refuse":      m.refuse,
			"taken":       m.taken,
			"expect":      m.expect,
			"register":    m.register,
			"come":        m.come,
			"come too":    m.come, // enough workers that some become idle together
			"suspend":     m.suspend,
			"remove":      m.remove,
			"answer":      m.answer,
			"free":        m.freed,
			"report":      m.report,
			"report lies": m.reportLies,
			"serve":       m.serve,
			"reconcile":   m.reconcile,
			"fall idle":   m.fallIdle,
			"time passes": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.IntRange(1, 40_000).Draw(t, "ms")) * time.Millisecond)
			},
			"": m.compare,
		})
	})
}

func (m *model) anyWorker(t *rapid.T) (ids.ResourceID, *modelWorker) {
	if len(m.workers) == 0 {
		t.Skip("no worker")
	}
	id := rapid.SampledFrom(slices.Sorted(maps.Keys(m.workers))).Draw(t, "worker")
	return id, m.workers[id]
}

func (m *model) anySlot(t *rapid.T) (ids.SlotID, *modelWorker) {
	id, w := m.anyWorker(t)
	if w.state != registered {
		t.Skip("not registered")
	}
	return ids.SlotID{Resource: id, Index: rapid.IntRange(0, len(w.slots)-1).Draw(t, "slot")}, w
}

func (m *model) declare(t *rapid.T) {
	job := ids.JobID(rapid.SampledFrom([]string{"j1", "j2", "j3"}).Draw(t, "job"))
	slots := rapid.IntRange(0, 6).Draw(t, "total")
	m.declares(job, slots, rapid.IntRange(0, slots).Draw(t, "least"))
}

func (m *model) declares(job ids.JobID, slots, least int) {
	m.manager.Declare(job, slots, least)
	if least == 0 {
		least = slots
	}
	m.declared[job], m.least[job] = slots, least
	if slots == 0 {
		delete(m.shares, job)
	}
}

// setShare bounds what a job may hold and order now, or ends that.
func (m *model) setShare(t *rapid.T) {
	m.declare(t)
	for _, job := range slices.Sorted(maps.Keys(m.declared)) {
		if m.declared[job] == 0 {
			m.manager.SetShare(job, Share{}) // has no effect
			continue
		}
		share := Everything
		if rapid.IntRange(0, 3).Draw(t, "everything") > 0 {
			share = Share{Hold: rapid.IntRange(0, 6).Draw(t, "hold"), Order: rapid.IntRange(0, 6).Draw(t, "order")}
		}
		m.manager.SetShare(job, share)
		m.shares[job] = share
	}
	m.reconcile(t)
}

// setLimit leaves a part of the ceiling to other workers, or nothing.
func (m *model) setLimit(t *rapid.T) {
	m.limit = rapid.IntRange(0, max(m.config.Most, 0)).Draw(t, "limit")
	m.manager.Limit(m.limit)
	m.reconcile(t)
}

// block sets a worker's node aside, or ends that, and perhaps leaves the job none.
func (m *model) block(t *rapid.T) {
	job := ids.JobID(rapid.SampledFrom([]string{"j1", "j2", "j3"}).Draw(t, "job"))
	id, _ := m.anyWorker(t)
	if m.blocked[job] == nil {
		m.blocked[job] = make(map[ids.ResourceID]bool)
	}
	m.blocked[job][id] = !m.blocked[job][id]
	m.exhausted[job] = rapid.IntRange(0, 3).Draw(t, "exhausted") == 0
	m.manager.BlocklistChanged()
}

// refuse starts or ends a refusal of workers.
func (m *model) refuse(t *rapid.T) {
	m.refusal = rapid.SampledFrom([]string{"", "the large nodes restart", "the queue is stopped"}).Draw(t, "refusal")
	m.refused = m.refused || m.refusal != ""
	m.manager.Refuse(m.refusal)
}

// taken says that workers are not refused any more.
func (m *model) taken(*rapid.T) {
	m.refused = false
	m.manager.Taken()
}

func (m *model) expect(*rapid.T) {
	m.lastID++
	id := ids.ResourceID(fmt.Sprintf("w%d", m.lastID))
	m.workers[id] = &modelWorker{state: expected, order: m.lastID}
	m.manager.Expect(id)
}

// fallIdle frees most slots, and lets IdleTimeout pass.
func (m *model) fallIdle(t *rapid.T) {
	for _, job := range slices.Sorted(maps.Keys(m.declared)) {
		m.declares(job, rapid.IntRange(0, 1).Draw(t, "total"), 0)
	}
	for _, id := range slices.Sorted(maps.Keys(m.workers)) {
		for i, s := range m.workers[id].slots {
			if m.held(s.job) > m.declared[s.job] {
				m.manager.Freed(m.now, ids.SlotID{Resource: id, Index: i}, s.allocation)
				m.free(m.workers[id], i)
			}
		}
	}
	m.reconcile(t)
	m.now = m.now.Add(idleTimeout)
	m.reconcile(t)
}

// come starts and registers a new worker, and reconciles.
func (m *model) come(t *rapid.T) {
	m.expect(t)
	id := ids.ResourceID(fmt.Sprintf("w%d", m.lastID))
	m.registered(t, id, m.workers[id])
	m.reconcile(t)
}

func (m *model) register(t *rapid.T) {
	id, w := m.anyWorker(t)
	m.registered(t, id, w)
}

func (m *model) registered(t *rapid.T, id ids.ResourceID, w *modelWorker) {
	report := make([]msg.SlotStatus, m.config.SlotsPerWorker)
	slots := make([]modelSlot, m.config.SlotsPerWorker)
	for i := range report {
		report[i].Index = i
		if w.state != expected && w.slots[i].allocation != "" && rapid.Bool().Draw(t, "kept") {
			report[i].Allocation, report[i].Job = w.slots[i].allocation, w.slots[i].job
			slots[i] = modelSlot{allocation: w.slots[i].allocation, job: w.slots[i].job}
		}
	}
	if err := m.manager.Register(m.now, id, report); err != nil {
		t.Fatal(err)
	}
	m.lastCame++
	m.workers[id] = &modelWorker{state: registered, came: m.lastCame, slots: slots, idle: m.now}
}

func (m *model) suspend(t *rapid.T) {
	id, w := m.anyWorker(t)
	m.manager.Suspend(id)
	if w.state == registered {
		w.state = suspended
	}
}

func (m *model) remove(t *rapid.T) {
	id, _ := m.anyWorker(t)
	m.manager.Remove(id)
	delete(m.workers, id)
}

func (m *model) answer(t *rapid.T) {
	id, w := m.anySlot(t)
	s := &w.slots[id.Index]
	refused := rapid.SampledFrom([]string{"", "no room"}).Draw(t, "refused")
	if rapid.IntRange(0, 9).Draw(t, "stale") == 0 {
		m.manager.Answered(m.now, id, "stale", refused)
		return
	}
	m.manager.Answered(m.now, id, s.allocation, refused)
	if s.pending {
		s.pending = false
		if refused != "" {
			m.free(w, id.Index)
			s.notBefore = m.now.Add(refusalPause)
		}
	}
}

func (m *model) freed(t *rapid.T) {
	id, w := m.anySlot(t)
	if rapid.IntRange(0, 9).Draw(t, "stale") == 0 {
		m.manager.Freed(m.now, id, "stale")
		return
	}
	m.manager.Freed(m.now, id, w.slots[id.Index].allocation)
	m.free(w, id.Index)
}

// report reports the slots of the worker, including slots that it freed or took without the
// knowledge of the Manager.
func (m *model) report(t *rapid.T) {
	id, w := m.anyWorker(t)
	if w.state != registered {
		t.Skip("not registered")
	}
	var report []msg.SlotStatus
	for i := range w.slots {
		s := &w.slots[i]
		status := msg.SlotStatus{Index: i, Allocation: s.allocation, Job: s.job}
		switch rapid.IntRange(0, 3).Draw(t, "kind") {
		case 0: // the worker holds nothing
			status.Allocation, status.Job = "", ""
			if !s.pending {
				m.free(w, i)
			}
		case 1: // the worker holds something else
			m.lastID++
			status.Allocation, status.Job = ids.AllocationID(fmt.Sprintf("own%d", m.lastID)), "j1"
			m.free(w, i)
			*s = modelSlot{allocation: status.Allocation, job: "j1"}
		case 2: // as the Manager knows
			s.pending = false
		default:
			continue
		}
		report = append(report, status)
	}
	if err := m.manager.Report(m.now, id, report); err != nil {
		t.Fatal(err)
	}
}

// serve lets a worker begin or cease to serve data.
func (m *model) serve(t *rapid.T) {
	id, w := m.anyWorker(t)
	if w.state == expected {
		t.Skip("not registered")
	}
	serves := rapid.Bool().Draw(t, "serves")
	m.manager.Serves(m.now, id, serves)
	if w.serves && !serves {
		w.idle = m.now
	}
	w.serves = serves
}

// A report that cannot be true is an error and changes nothing.
func (m *model) reportLies(t *rapid.T) {
	id, w := m.anyWorker(t)
	if w.state != registered {
		t.Skip("not registered")
	}
	lie := rapid.SampledFrom([][]msg.SlotStatus{
		{{Index: -1}},
		{{Index: len(w.slots)}},
		{{Index: 0}, {Index: 0}},
		{{Index: 0, Allocation: "x", Job: "j1"}, {Index: len(w.slots), Allocation: "x", Job: "j1"}},
	}).Draw(t, "lie")
	if err := m.manager.Report(m.now, id, lie); err == nil {
		t.Fatalf("report %v of worker %s is taken", lie, id)
	}
	if err := m.manager.Register(m.now, id, lie); err == nil {
		t.Fatalf("registration of worker %s with %v is taken", id, lie)
	}
}
