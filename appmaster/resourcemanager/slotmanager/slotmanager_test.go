package slotmanager

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

const idleTimeout = 30 * time.Second

// model is a naive account of the same facts: a list of the slots of every worker, which each
// question searches completely.
type model struct {
	config   Config
	now      time.Time
	manager  *Manager
	declared map[ids.JobID]int
	least    map[ids.JobID]int
	workers  map[ids.ResourceID]*modelWorker
	lastID   int
	lastCame int
	granted  map[ids.AllocationID]bool // ever

	blocked   map[ids.JobID]map[ids.ResourceID]bool
	exhausted map[ids.JobID]bool
	refusal   string // why no more workers can come; or ""
	refused   bool   // true from Refuse until Taken
	looked    int    // the newest worker when slots were last missing
}

func (m *model) Blocks(job ids.JobID, worker ids.ResourceID) bool { return m.blocked[job][worker] }
func (m *model) Exhausted(job ids.JobID) bool                     { return m.exhausted[job] }

type modelWorker struct {
	state workerState
	order int // of the announcement
	came  int // the number of its registration
	slots []modelSlot
	idle  time.Time
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

// missing counts the missing slots that new workers could provide.
func (m *model) missing() int {
	n := 0
	for job, declared := range m.declared {
		if !m.exhausted[job] {
			n += max(declared-m.held(job), 0)
		}
	}
	return n
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

// reconcile compares a plan with what the naive account allows and requires.
func (m *model) reconcile(t *rapid.T) {
	plan := m.manager.Reconcile(m.now)
	for _, g := range plan.Grants {
		w := m.workers[g.Slot.Resource]
		switch {
		case w == nil || w.state != registered:
			t.Fatalf("slot %s granted on a worker that is not there", g.Slot)
		case w.slots[g.Slot.Index].allocation != "":
			t.Fatalf("slot %s granted twice", g.Slot)
		case m.now.Before(w.slots[g.Slot.Index].notBefore):
			t.Fatalf("slot %s granted right after it was refused", g.Slot)
		case m.blocked[g.Job][g.Slot.Resource]:
			t.Fatalf("job %s got a slot of %s, which it has blocked", g.Job, g.Slot.Resource)
		case m.granted[g.Allocation]:
			t.Fatalf("allocation %s granted twice", g.Allocation)
		case m.held(g.Job) >= m.declared[g.Job]:
			t.Fatalf("job %s got more than its %d slots", g.Job, m.declared[g.Job])
		}
		m.granted[g.Allocation] = true
		w.slots[g.Slot.Index] = modelSlot{allocation: g.Allocation, job: g.Job, pending: true}
	}

	missing := m.missing()
	coming, here, later := 0, 0, 0
	strayed := false
	var useless, unwanted, idle, starting []ids.ResourceID
	for _, id := range slices.Sorted(maps.Keys(m.workers)) {
		w := m.workers[id]
		if missing > 0 && w.state != suspended && w.used() == 0 && !m.wanted(id) {
			if w.state == expected {
				useless = append(useless, id)
				strayed = strayed || w.order > m.looked
			} else {
				unwanted = append(unwanted, id)
			}
			continue // the worker is neither expected nor registered
		}
		if w.state == expected {
			coming++
			starting = append(starting, id)
			continue
		}
		here++
		if w.state == registered && w.used() == 0 && !m.now.Before(w.idle.Add(idleTimeout)) && !m.wanted(id) && !(m.refused && m.lacking()) {
			idle = append(idle, id)
		}
		for _, s := range w.slots {
			switch {
			case s.allocation != "", !m.wanted(id):
			case w.state == suspended || m.now.Before(s.notBefore):
				later++
			default:
				t.Fatalf("slots are missing and worker %s has a free one", id)
			}
		}
	}
	slices.SortFunc(unwanted, func(a, b ids.ResourceID) int { return m.workers[a].came - m.workers[b].came })
	for kept := len(unwanted); kept > 0; kept-- {
		if m.refused && (m.config.MaxSlots == 0 || coming+here+kept <= m.config.MaxSlots/m.config.SlotsPerWorker) {
			break
		}
		useless = append(useless, unwanted[len(unwanted)-kept])
	}
	needed := 0
	for covered := later; covered < missing; covered += m.config.SlotsPerWorker {
		if m.config.MaxSlots > 0 && needed >= m.config.MaxSlots/m.config.SlotsPerWorker-here {
			break
		}
		needed++
	}
	slices.SortFunc(starting, func(a, b ids.ResourceID) int { return m.workers[b].order - m.workers[a].order })
	want := slices.Concat(useless, starting[:max(coming-needed, 0)], idle)
	slices.Sort(want)
	var released []ids.ResourceID
	for _, r := range plan.Release {
		released = append(released, r.Worker)
		delete(m.workers, r.Worker)
	}
	slices.Sort(released)
	if diff := cmp.Diff(want, released, cmp.Transformer("empty", func(s []ids.ResourceID) string { return fmt.Sprint(s) })); diff != "" {
		t.Fatalf("released workers (-want +got):\n%s", diff)
	}
	if plan.Strayed != strayed {
		t.Fatalf("plan says that workers came in vain: %v, want %v", plan.Strayed, strayed)
	}
	if missing > 0 {
		m.looked = m.lastID
	}
	if want := max(needed-coming, 0); plan.Workers != want {
		t.Fatalf("plan asks for %d workers instead of %d", plan.Workers, want)
	}
	m.short(t, plan.Short)
	if at, ok := m.manager.Next(); ok && !at.After(m.now) {
		t.Fatalf("next reconciliation at %v is not after %v", at, m.now)
	}
	m.compare(t)
}

// short checks that exactly the jobs that lack slots are named. Those that cannot run with the
// slots that they can get, because of the limit of slots or a refusal of workers, must get a
// reason.
func (m *model) short(t *rapid.T, list []Shortage) {
	named := make(map[ids.JobID]bool)
	for _, s := range list {
		named[s.Job] = true
		limit := m.config.MaxSlots / m.config.SlotsPerWorker * m.config.SlotsPerWorker
		limited := m.config.MaxSlots > 0 && m.least[s.Job] > limit
		refused := m.refusal != "" && m.least[s.Job] > m.supply(s.Job)
		if told := strings.Contains(s.Reason, "slotmanager.number-of-slots.max"); told && !limited {
			t.Fatalf("job %s, which can do with %d slots, is told: %s", s.Job, m.least[s.Job], s.Reason)
		} else if told := s.Reason != "" && s.Reason == m.refusal; told && !refused {
			t.Fatalf("job %s, which can do with %d slots of %d, is told: %s", s.Job, m.least[s.Job], m.supply(s.Job), s.Reason)
		} else if s.Reason == "" && (limited || refused) {
			t.Fatalf("job %s needs %d slots, the limit is %d, workers are refused: %q, there are %d; and it is not told",
				s.Job, m.least[s.Job], m.config.MaxSlots, m.refusal, m.supply(s.Job))
		}
	}
	lacking := make(map[ids.JobID]bool)
	for job, declared := range m.declared {
		if m.held(job) < declared {
			lacking[job] = true
		}
	}
	if diff := cmp.Diff(lacking, named); diff != "" {
		t.Fatalf("jobs that lack slots (-want +got):\n%s", diff)
	}
}

// compare compares the Manager's tables with the model's.
func (m *model) compare(t *rapid.T) {
	if len(m.manager.workers) != len(m.workers) {
		t.Fatalf("manager knows %d workers instead of %d", len(m.manager.workers), len(m.workers))
	}
	holders := make(map[ids.AllocationID]ids.SlotID)
	for id, w := range m.workers {
		total, free := m.manager.Usage(id)
		if total != len(w.slots) || free != len(w.slots)-w.used() {
			t.Fatalf("worker %s has %d slots, %d free, instead of %d and %d", id, total, free, len(w.slots), len(w.slots)-w.used())
		}
		for i, s := range w.slots {
			if s.allocation != "" {
				holders[s.allocation] = ids.SlotID{Resource: id, Index: i}
			}
		}
	}
	if diff := cmp.Diff(holders, m.manager.holders); diff != "" {
		t.Fatalf("holders of allocations (-want +got):\n%s", diff)
	}
}

// Wrong accounts of free, held or expected slots show here: as a slot given twice, one worker too
// many or too few, or an idle worker that is kept.
func TestManagerAgreesWithANaiveModelUnderAnyEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		config := Config{
			SlotsPerWorker: rapid.IntRange(1, 3).Draw(t, "slots per worker"),
			IdleTimeout:    idleTimeout,
		}
		config.MaxSlots = rapid.SampledFrom([]int{0, config.SlotsPerWorker, 7}).Draw(t, "max slots")
		if config.MaxSlots > 0 && config.MaxSlots < config.SlotsPerWorker {
			config.MaxSlots = config.SlotsPerWorker
		}
		m := &model{
			now:       time.Unix(1_000_000, 0),
			declared:  make(map[ids.JobID]int),
			least:     make(map[ids.JobID]int),
			workers:   make(map[ids.ResourceID]*modelWorker),
			granted:   make(map[ids.AllocationID]bool),
			blocked:   make(map[ids.JobID]map[ids.ResourceID]bool),
			exhausted: make(map[ids.JobID]bool),
		}
		config.Blocklist = m
		m.config, m.manager = config, New(config, ids.NewSequence("test"))
		t.Repeat(map[string]func(*rapid.T){
			"declare":     m.declare,
			"block":       m.block,
			"refuse":      m.refuse,
			"taken":       m.taken,
			"expect":      m.expect,
			"register":    m.register,
			"suspend":     m.suspend,
			"remove":      m.remove,
			"answer":      m.answer,
			"free":        m.freed,
			"report":      m.report,
			"report lies": m.reportLies,
			"reconcile":   m.reconcile,
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
	m.declared[job] = rapid.IntRange(0, 6).Draw(t, "total")
	least := rapid.IntRange(0, m.declared[job]).Draw(t, "least")
	m.manager.Declare(job, m.declared[job], least)
	if m.least[job] = least; least == 0 {
		m.least[job] = m.declared[job]
	}
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

func (m *model) register(t *rapid.T) {
	id, w := m.anyWorker(t)
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

// The oldest job is served first, and a used worker before an idle one, so that idle workers can be
// released.
func TestGrantsPreferEarlierJobsAndWorkersInUse(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	m := New(Config{SlotsPerWorker: 2, IdleTimeout: idleTimeout}, ids.NewSequence("a"))
	for _, id := range []ids.ResourceID{"w1", "w2"} {
		m.Expect(id)
		if err := m.Register(now, id, []msg.SlotStatus{{Index: 0}, {Index: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	m.Declare("j1", 3, 0)
	grants := m.Reconcile(now).Grants
	m.Freed(now, grants[0].Slot, grants[0].Allocation) // w1 keeps one of its slots
	m.Freed(now, grants[2].Slot, grants[2].Allocation) // w2 is idle
	m.Declare("j1", 1, 0)
	m.Reconcile(now)
	m.Declare("j2", 1, 0)
	m.Declare("j1", 2, 0)

	var got []string
	for _, g := range m.Reconcile(now).Grants {
		got = append(got, fmt.Sprintf("%s gets %s", g.Job, g.Slot))
	}
	if diff := cmp.Diff([]string{"j1 gets w1_0", "j2 gets w2_0"}, got); diff != "" {
		t.Errorf("grants (-want +got):\n%s", diff)
	}
}

// A worker that becomes idle long after it came, when no other is idle, is released in time.
func TestWorkerIsReleasedAfterItsIdleTimeoutAndNotBefore(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	m := New(Config{SlotsPerWorker: 1, IdleTimeout: idleTimeout}, ids.NewSequence("a"))
	m.Declare("j1", 1, 0)
	if err := m.Register(now, "w1", []msg.SlotStatus{{Index: 0}}); err != nil {
		t.Fatal(err)
	}
	grant := m.Reconcile(now).Grants[0]
	m.Declare("j1", 0, 0)
	now = now.Add(time.Hour)
	m.Reconcile(now)
	m.Freed(now, grant.Slot, grant.Allocation)
	m.Reconcile(now)

	due, ok := m.Next()
	if want := now.Add(idleTimeout); !ok || !due.Equal(want) {
		t.Fatalf("next reconciliation is at %v, %v instead of %v", due, ok, want)
	}
	if released := m.Reconcile(due.Add(-1)).Release; len(released) != 0 {
		t.Errorf("released too soon: %v", released)
	}
	if released := m.Reconcile(due).Release; len(released) != 1 || released[0].Worker != "w1" {
		t.Errorf("released in time: %v", released)
	}
}

// The time per fact must not grow with the square of the cluster.
func BenchmarkTenThousandWorkersComeAndGo(b *testing.B) {
	for b.Loop() {
		now := time.Unix(1_000_000, 0)
		const workers = 10_000
		m := New(Config{SlotsPerWorker: 2, IdleTimeout: idleTimeout}, ids.NewSequence("a"))
		m.Declare("j1", 2*workers, 0)
		var grants []Grant
		for i := range workers {
			id := ids.ResourceID(fmt.Sprintf("w%d", i))
			m.Expect(id)
			m.Reconcile(now)
		}
		for i := range workers {
			id := ids.ResourceID(fmt.Sprintf("w%d", i))
			if err := m.Register(now, id, []msg.SlotStatus{{Index: 0}, {Index: 1}}); err != nil {
				b.Fatal(err)
			}
			grants = append(grants, m.Reconcile(now).Grants...)
		}
		for _, g := range grants {
			m.Answered(now, g.Slot, g.Allocation, "")
			m.Reconcile(now)
		}
		m.Declare("j1", 0, 0)
		for _, g := range grants {
			m.Freed(now, g.Slot, g.Allocation)
			m.Reconcile(now)
		}
		if n := len(m.Reconcile(now.Add(idleTimeout)).Release); n != workers {
			b.Fatalf("%d workers released", n)
		}
	}
}
