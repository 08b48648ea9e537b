package resourcemanager

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/patience"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// world is a naive account of the messages and effects of the core: the state of each container,
// the worker of each connection, and the job of each slot.
type world struct {
	config Config
	core   *core
	now    time.Time
	log    []recorded
	lastID int

	sizes       []*size                   // of workers that jobs may need; the first is that of default slots
	containers  map[ids.ResourceID]string // "running", "ended" or "released"; of an earlier attempt before: see core_previous_test.go
	here        map[ids.ResourceID]bool   // running containers whose workers have registered
	serves      map[ids.ResourceID]bool   // workers that serve partitions, as they have said
	listed      bool                      // the provider has listed workers of earlier masters
	leads       time.Time                 // since when; zero: standby
	returns     patience.Deadline         // of the workers of earlier masters
	of          map[ids.ResourceID]*size  // of each container
	hosts       map[ids.ResourceID]string // of each container
	connections map[actor.ConnectionID]ids.ResourceID
	slots       map[ids.SlotID]ids.AllocationID // of connected workers
	holders     map[ids.AllocationID]ids.JobID  // the job of each slot ever granted
	jobs        map[ids.JobID]ids.JobMasterID
	needs       map[ids.JobID]map[*size]*demand
	blocked     map[ids.JobID][]msg.BlockedNode
	tokens      string                        // the newest
	told        map[actor.ConnectionID]string // tokens that were sent
	questions   []*question                   // of users, that are open
	ended       bool
}

// size is a kind of workers, for slots of one profile.
type size struct {
	spec    WorkerResourceSpec
	slot    memory.Slot
	known   bool // to the core: a job has declared such slots
	total   int  // of the last order
	most    int  // the largest total
	starts  int
	refusal string // why the provider cannot get such workers; or ""
	sparing bool   // from a refusal until the orders are taken
}

// demand is the slots of one size that a job has declared.
type demand struct {
	slots int
	least int  // with these some part of the job runs
	part  int  // for the largest part
	told  bool // that the job cannot get its slots
}

type recorded struct {
	now     time.Time
	event   event
	effects []effect
}

// drawConfig makes starts pause often, and lets jobs compete for the ceiling. Some are of a later attempt.
func drawConfig(t *rapid.T) Config {
	c := testConfig()
	c.MaxStartFailures = 1
	if ceiling := rapid.SampledFrom([]int{0, 2, 5, 5, 8}).Draw(t, "ceiling"); ceiling > 0 {
		c.Ceiling.Slots = ceiling
	}
	c.Floor.Slots = min(rapid.SampledFrom([]int{0, 0, 2, 4}).Draw(t, "floor"), c.Ceiling.Slots)
	c.Redundant = rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "redundant workers")
	if c.Standby = rapid.Bool().Draw(t, "later attempt"); c.Standby {
		c.ResourceManager = ids.NewResourceManagerID(2, "rm")
	}
	return c
}

func newWorld(t *rapid.T, config Config) *world {
	core, err := newCore(config)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		config: config, core: core, now: testEpoch,
		sizes:       []*size{{spec: config.Worker, slot: config.SlotMemory, known: true}},
		containers:  make(map[ids.ResourceID]string),
		here:        make(map[ids.ResourceID]bool),
		serves:      make(map[ids.ResourceID]bool),
		of:          make(map[ids.ResourceID]*size),
		hosts:       make(map[ids.ResourceID]string),
		connections: make(map[actor.ConnectionID]ids.ResourceID),
		slots:       make(map[ids.SlotID]ids.AllocationID),
		holders:     make(map[ids.AllocationID]ids.JobID),
		jobs:        make(map[ids.JobID]ids.JobMasterID),
		needs:       make(map[ids.JobID]map[*size]*demand),
		blocked:     make(map[ids.JobID][]msg.BlockedNode),
		told:        make(map[actor.ConnectionID]string),
	}
	if !config.Standby {
		w.leads = testEpoch.Add(-time.Hour) // expects nobody
	}
	return w
}

// drawSizes adds the sizes of up to two further profiles.
func (w *world) drawSizes(t *rapid.T) {
	further := []msg.ResourceProfile{heavy, huge}
	for _, profile := range further[:rapid.IntRange(0, len(further)).Draw(t, "further profiles")] {
		spec, slot := w.config.size(profile)
		w.sizes = append(w.sizes, &size{spec: spec, slot: slot})
	}
}

// step sends an event to the core and checks its effects.
func (w *world) step(t *rapid.T, event event) []effect {
	if late := patience.Late(w.now, w.core.Alarm()); late > 0 {
		w.returns = w.returns.Excuse(w.now, late, w.config.HeartbeatInterval)
	}
	effects := w.core.Step(w.now, event)
	w.log = append(w.log, recorded{w.now, event, effects})
	for _, effect := range effects {
		switch e := effect.(type) {
		case orderWorkers:
			w.ordered(t, e.Orders)
		case sendTaskExecutor:
			w.sent(t, e)
			w.questioned(t, e)
		case reply:
			w.replied(t, e)
		case workerGone:
			w.forgetSlots(e.Worker) // jobs may get others at once
		}
	}
	for c, id := range w.connections {
		if w.containers[id] == "running" && w.told[c] != w.tokens {
			t.Fatalf("worker %s was last sent tokens %q, the newest are %q", id, w.told[c], w.tokens)
		}
	}
	w.checkQuestions(t)
	if !w.ended {
		w.fit(t)
	}
	if !w.ended && !w.waits() {
		w.judge(t, effects)
	}
	return effects
}

// fit checks that the workers of all sizes, and those that are ordered, fit under the ceiling together. After a
// refusal the core keeps workers on blocked nodes, and orders others in place of them.
func (w *world) fit(t *rapid.T) {
	var running, ordered config.WorkerTotals
	sparing := false
	for _, s := range w.sizes {
		n := len(w.running(s))
		running = running.Plus(n, s.spec.totals())
		ordered = ordered.Plus(n+s.total-s.starts, s.spec.totals())
		sparing = sparing || s.sparing && !w.core.blocked.Empty()
	}
	if by, exceeded := w.config.Ceiling.Exceeded(running); exceeded {
		t.Fatalf("there are workers with %v, above %v", running, by)
	}
	if by, exceeded := w.config.Ceiling.Exceeded(ordered); exceeded && !sparing {
		t.Fatalf("there are workers with %v, and with those that are ordered %v, above %v", running, ordered, by)
	}
}

// judge checks that exactly those jobs are told why, once, that cannot run any part in the slots that they can get.
func (w *world) judge(t *rapid.T, effects []effect) {
	for _, effect := range effects {
		sent, _ := effect.(sendJobMaster)
		m, ok := sent.Message.(msg.NotEnoughResources)
		if !ok {
			continue
		}
		s := w.sizes[slices.IndexFunc(w.sizes, func(s *size) bool { return s.spec.Profile == m.Profile })]
		d := w.needs[m.Job][s]
		switch want := w.trouble(m.Job, s); {
		case d == nil || w.held(m.Job, s) >= d.slots:
			t.Fatalf("job %s is told %q about slots with %s, and lacks none", m.Job, m.Reason, m.Profile)
		case want == "" || !strings.Contains(m.Reason, want):
			t.Fatalf("job %s is told %q; it needs %d of %d slots, and %q is wrong", m.Job, m.Reason, d.least, w.supply(m.Job, s), want)
		case d.told:
			t.Fatalf("job %s is told twice: %s", m.Job, m.Reason)
		}
		if blocked := len(w.blocked[m.Job]) > 0; m.NodesBlocked != blocked {
			t.Fatalf("job %s is told that it blocks nodes: %t; it blocks %v", m.Job, m.NodesBlocked, w.blocked[m.Job])
		}
		d.told = true
	}
	for job, demands := range w.needs {
		for s, d := range demands {
			trouble := w.trouble(job, s)
			if w.held(job, s) >= d.slots {
				trouble = ""
			}
			if trouble != "" && !d.told {
				t.Fatalf("job %s needs %d of %d slots with %s, and is not told that there are no more: %s",
					job, d.least, w.supply(job, s), s.spec.Profile, trouble)
			}
			d.told = d.told && trouble != "" // if this changes, the job is told again
		}
	}
}

// trouble is a part of the reason why the job cannot get its slots of a size, or "".
func (w *world) trouble(job ids.JobID, s *size) string {
	d := w.needs[job][s]
	if d == nil {
		return ""
	}
	up := func(slots int, s *size) int { return (slots + s.spec.Slots - 1) / s.spec.Slots * s.spec.Slots }
	together, known := 0, 0
	for _, other := range w.sizes {
		if other.known {
			known++
		}
		if d := w.needs[job][other]; d != nil {
			together += up(min(d.part, d.slots), other)
		}
	}
	switch ceiling := w.config.Ceiling.Slots; {
	case up(d.least, s) > ceiling:
		return "slotmanager.number-of-slots.max"
	case s.refusal != "" && d.least > w.supply(job, s):
		return s.refusal
	case known > 1 && together > ceiling:
		return "slotmanager.number-of-slots.max"
	}
	return w.core.hopeless(w.core.kindOf(s.spec))
}

// supply counts the slots of a size that a job could have, whichever job has them now: slots of workers on
// nodes that the job has not blocked, and slots that the job holds.
func (w *world) supply(job ids.JobID, s *size) int {
	n := w.held(job, s)
	for _, id := range w.running(s) {
		for i := range s.spec.Slots {
			allocation := w.slots[ids.SlotID{Resource: id, Index: i}]
			if !has(w.blocked[job], w.hosts[id]) && (allocation == "" || w.holders[allocation] != job) {
				n++
			}
		}
	}
	return n
}

// held counts the slots of a size that a job holds.
func (w *world) held(job ids.JobID, s *size) (n int) {
	for slot, allocation := range w.slots {
		if w.of[slot.Resource] == s && w.containers[slot.Resource] == "running" && w.holders[allocation] == job {
			n++
		}
	}
	return n
}

func (w *world) ordered(t *rapid.T, o Orders) {
	for _, order := range o.Workers {
		at := slices.IndexFunc(w.sizes, func(s *size) bool { return s.spec == order.Spec })
		if at < 0 || !w.sizes[at].known {
			t.Fatalf("workers of %v are ordered, and no job has declared such slots", order.Spec)
		}
		s := w.sizes[at]
		if w.waits() && order.Total > max(s.total, s.starts) {
			t.Fatalf("%d workers of %v ordered in all after %d, and those of earlier masters are to return", order.Total, s.spec, s.total)
		}
		if order.Total < s.starts {
			t.Fatalf("%d workers of %v ordered in all, and %d have started", order.Total, s.spec, s.starts)
		}
		s.total, s.most = order.Total, max(s.most, order.Total)
	}
	for _, node := range o.Avoid {
		if !slices.ContainsFunc(slices.Collect(maps.Values(w.blocked)), func(list []msg.BlockedNode) bool { return has(list, node) }) {
			t.Fatalf("node %s is avoided, and no job has blocked it", node)
		}
	}
	for _, r := range o.Release {
		if w.serves[r.Worker] && !w.ended && !strings.HasPrefix(r.Cause, "sent no heartbeat") && !strings.HasPrefix(r.Cause, "lost its connection") {
			t.Fatalf("worker %s is released with the partitions that it serves: %s", r.Worker, r.Cause)
		}
		switch w.containers[r.Worker] {
		case "running", "previous", "released, and listed":
			w.containers[r.Worker] = "released"
		case "released", "ended":
			t.Fatalf("worker %s is released, and was %s", r.Worker, w.containers[r.Worker])
		default:
			t.Fatalf("worker %s is released, and never started", r.Worker)
		}
		maps.DeleteFunc(w.connections, func(_ actor.ConnectionID, id ids.ResourceID) bool { return id == r.Worker })
	}
}

// sent checks the slots that a worker is asked for: they exist and are free, and the job has declared them.
func (w *world) sent(t *rapid.T, e sendTaskExecutor) {
	if m, ok := e.Message.(msg.UpdateTokens); ok {
		w.told[e.To] = string(m.Tokens)
	}
	m, ok := e.Message.(msg.RequestSlots)
	if !ok {
		return
	}
	worker, connected := w.connections[e.To]
	if !connected || w.containers[worker] != "running" {
		t.Fatalf("slot requested over connection %d, whose worker %q is not there", e.To, worker)
	}
	s := w.of[worker]
	d := w.needs[m.Job][s]
	for _, o := range m.Slots {
		slot := ids.SlotID{Resource: worker, Index: o.Index}
		switch {
		case o.Index < 0 || o.Index >= s.spec.Slots:
			t.Fatalf("slot %d requested, which does not exist", o.Index)
		case w.slots[slot] != "":
			t.Fatalf("slot %s requested for %s, and %s has it", slot, o.Allocation, w.slots[slot])
		case m.Profile != s.spec.Profile || m.Memory != s.slot:
			t.Fatalf("slot with %s and %v requested of worker %s, whose slots have %s and %v", m.Profile, m.Memory, worker, s.spec.Profile, s.slot)
		case d == nil || w.held(m.Job, s) >= d.slots:
			t.Fatalf("slot with %s requested for job %s, which needs no more", m.Profile, m.Job)
		case has(w.blocked[m.Job], w.hosts[worker]):
			t.Fatalf("slot requested for job %s on %s, which it has blocked", m.Job, w.hosts[worker])
		case w.holders[o.Allocation] != "":
			t.Fatalf("allocation %s granted twice", o.Allocation)
		case w.jobs[m.Job] != m.JobMaster:
			t.Fatalf("slot requested for JobMaster %s of job %s, which has %q", m.JobMaster, m.Job, w.jobs[m.Job])
		}
		w.slots[slot] = o.Allocation
		w.holders[o.Allocation] = m.Job
	}
}

// unchanged sends an event that must not change anything.
func (w *world) unchanged(t *rapid.T, event event) {
	before := w.core.status()
	for _, effect := range w.step(t, event) {
		_, drops := effect.(dropped)
		if shut, closes := effect.(closeTaskExecutor); !drops && !(closes && shut.To == 0) {
			t.Fatalf("event %+v has effect %+v", event, effect)
		}
	}
	alive := cmpopts.IgnoreFields(msg.TaskExecutorDetails{}, "LastHeartbeat")
	if diff := cmp.Diff(before, w.core.status(), alive); diff != "" {
		t.Fatalf("event %+v changed the workers (-before +after):\n%s", event, diff)
	}
}

func has(list []msg.BlockedNode, node string) bool {
	return slices.ContainsFunc(list, func(n msg.BlockedNode) bool { return n.Node == node })
}

// running lists the workers of a size; nil stands for all sizes.
func (w *world) running(of *size) []ids.ResourceID {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.containers)), func(id ids.ResourceID) bool {
		return w.containers[id] != "running" || of != nil && w.of[id] != of
	})
}

func (w *world) forgetSlots(id ids.ResourceID) {
	maps.DeleteFunc(w.slots, func(s ids.SlotID, _ ids.AllocationID) bool { return s.Resource == id })
}
