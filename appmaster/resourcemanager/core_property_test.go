package resourcemanager

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// world is a naive account of the messages and effects of the core: the state of each container,
// the worker of each connection, and the job of each slot.
type world struct {
	core   *core
	now    time.Time
	log    []recorded
	lastID int

	containers  map[ids.ResourceID]string // "running", "ended" or "released"
	connections map[actor.ConnectionID]ids.ResourceID
	slots       map[ids.SlotID]ids.AllocationID // of connected workers
	holders     map[ids.AllocationID]ids.JobID  // the job of each slot ever granted
	jobs        map[ids.JobID]ids.JobMasterID
	hosts       map[ids.ResourceID]string
	blocked     map[ids.JobID][]msg.BlockedNode
	tokens      string                        // the newest
	told        map[actor.ConnectionID]string // tokens that were sent
	total       int
	most        int // the largest total
	starts      int
	refusal     string             // why the provider cannot get workers; or ""
	least       map[ids.JobID]int  // the slots with which some part of a job runs
	failed      map[ids.JobID]bool // jobs that were told that they cannot get their slots
}

type recorded struct {
	now     time.Time
	event   event
	effects []effect
}

// worldConfig makes starts pause often.
func worldConfig() Config {
	c := testConfig()
	c.MaxStartFailures = 1
	return c
}

func newWorld(t *rapid.T) *world {
	core, err := newCore(worldConfig())
	if err != nil {
		t.Fatal(err)
	}
	return &world{
		core: core, now: testEpoch,
		containers:  make(map[ids.ResourceID]string),
		connections: make(map[actor.ConnectionID]ids.ResourceID),
		slots:       make(map[ids.SlotID]ids.AllocationID),
		holders:     make(map[ids.AllocationID]ids.JobID),
		jobs:        make(map[ids.JobID]ids.JobMasterID),
		hosts:       make(map[ids.ResourceID]string),
		blocked:     make(map[ids.JobID][]msg.BlockedNode),
		told:        make(map[actor.ConnectionID]string),
		least:       make(map[ids.JobID]int),
		failed:      make(map[ids.JobID]bool),
	}
}

// step sends an event to the core and checks its effects.
func (w *world) step(t *rapid.T, event event) []effect {
	effects := w.core.Step(w.now, event)
	w.log = append(w.log, recorded{w.now, event, effects})
	for _, effect := range effects {
		switch e := effect.(type) {
		case orderWorkers:
			w.ordered(t, e.Orders)
		case sendTaskExecutor:
			w.sent(t, e)
		}
	}
	for c, id := range w.connections {
		if w.containers[id] == "running" && w.told[c] != w.tokens {
			t.Fatalf("worker %s was last sent tokens %q, the newest are %q", id, w.told[c], w.tokens)
		}
	}
	w.judge(t, effects)
	return effects
}

// judge checks that exactly those jobs are told of a refusal that cannot run any part in the slots
// that they can get.
func (w *world) judge(t *rapid.T, effects []effect) {
	for _, effect := range effects {
		sent, _ := effect.(sendJobMaster)
		m, ok := sent.Message.(msg.NotEnoughResources)
		if !ok {
			continue
		}
		slots := w.supply(m.Job)
		if refused := strings.HasPrefix(m.Reason, refusedFor); refused && (m.Reason != w.refusal || w.least[m.Job] <= slots) {
			t.Fatalf("job %s is told %q; it needs %d of %d slots, and the refusal is %q", m.Job, m.Reason, w.least[m.Job], slots, w.refusal)
		}
		if blocked := len(w.blocked[m.Job]) > 0; m.NodesBlocked != blocked {
			t.Fatalf("job %s is told that it blocks nodes: %t; it blocks %v", m.Job, m.NodesBlocked, w.blocked[m.Job])
		}
		if w.failed[m.Job] {
			t.Fatalf("job %s is told twice", m.Job)
		}
		w.failed[m.Job] = true
	}
	for job, least := range w.least {
		if w.refusal == "" || least <= w.supply(job) {
			w.failed[job] = false // if this changes, the job is told again
		}
		if slots := w.supply(job); w.refusal != "" && least > slots && !w.failed[job] {
			t.Fatalf("job %s needs %d of %d slots, and is not told that there are no more: %s", job, least, slots, w.refusal)
		}
	}
}

// supply counts the slots that a job could have, whichever job has them now: slots of workers on
// nodes that the job has not blocked, and slots that the job holds.
func (w *world) supply(job ids.JobID) int {
	n := 0
	for _, id := range w.running() {
		for i := range testConfig().Worker.Slots {
			allocation := w.slots[ids.SlotID{Resource: id, Index: i}]
			if !has(w.blocked[job], w.hosts[id]) || allocation != "" && w.holders[allocation] == job {
				n++
			}
		}
	}
	return n
}

// refusedFor is the start of the reason of every refusal.
const refusedFor = "refused "

func (w *world) ordered(t *rapid.T, o Orders) {
	total := o.Workers[0].Total
	if total < w.starts {
		t.Fatalf("%d workers ordered in all, and %d have started", total, w.starts)
	}
	for _, node := range o.Avoid {
		if !slices.ContainsFunc(slices.Collect(maps.Values(w.blocked)), func(list []msg.BlockedNode) bool { return has(list, node) }) {
			t.Fatalf("node %s is avoided, and no job has blocked it", node)
		}
	}
	w.total, w.most = total, max(w.most, total)
	for _, r := range o.Release {
		switch w.containers[r.Worker] {
		case "running":
			w.containers[r.Worker] = "released"
		case "released", "ended":
			t.Fatalf("worker %s is released, and was %s", r.Worker, w.containers[r.Worker])
		default:
			t.Fatalf("worker %s is released, and never started", r.Worker)
		}
		maps.DeleteFunc(w.connections, func(_ actor.ConnectionID, id ids.ResourceID) bool { return id == r.Worker })
	}
}

func (w *world) sent(t *rapid.T, e sendTaskExecutor) {
	if m, ok := e.Message.(msg.UpdateTokens); ok {
		w.told[e.To] = string(m.Tokens)
	}
	m, ok := e.Message.(msg.RequestSlots)
	if !ok {
		return
	}
	worker, connected := w.connections[e.To]
	for _, o := range m.Slots {
		slot := ids.SlotID{Resource: worker, Index: o.Index}
		switch {
		case !connected || w.containers[worker] != "running":
			t.Fatalf("slot requested over connection %d, whose worker %q is not there", e.To, worker)
		case o.Index < 0 || o.Index >= testConfig().Worker.Slots:
			t.Fatalf("slot %d requested, which does not exist", o.Index)
		case w.slots[slot] != "":
			t.Fatalf("slot %s requested for %s, and %s has it", slot, o.Allocation, w.slots[slot])
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

// In any order of events: no slot is granted twice, or on a worker that does not exist; no worker
// is lost from the tables; every connected worker has the newest tokens; exactly the jobs that no
// slot can serve while workers are refused are told so; stale messages change nothing; and the same
// events give the same effects.
func TestCoreKeepsItsPromisesUnderAnyEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		t.Repeat(map[string]func(*rapid.T){
			"declare":          w.declare,
			"block":            w.block,
			"job master ends":  w.jobMasterEnds,
			"worker starts":    w.workerStarts,
			"worker ends":      w.workerEnds,
			"register":         w.register,
			"disconnect":       w.disconnect,
			"answer":           w.answer,
			"free":             w.free,
			"stale message":    w.stale,
			"heartbeat":        w.heartbeat,
			"new tokens":       w.newTokens,
			"refused":          w.refused,
			"refusal ends":     w.refusalEnds,
			"time passes":      w.timePasses,
			"":                 func(*rapid.T) {},
			"unknown declares": w.unknownDeclares,
		})
		w.refusal = "" // no job needs the reason any more
		w.step(t, shutdownAsked{Status: msg.ApplicationSucceeded})
		for id, state := range w.containers {
			if state == "running" {
				t.Fatalf("worker %s is neither ended nor released at the end", id)
			}
		}
		w.replay(t)
	})
}

func (w *world) replay(t *rapid.T) {
	again := newWorld(t)
	for i, r := range w.log {
		effects := again.core.Step(r.now, r.event)
		if diff := cmp.Diff(r.effects, effects, cmpopts.EquateErrors()); diff != "" {
			t.Fatalf("step %d, %+v, gives other effects when replayed (-first +again):\n%s", i, r.event, diff)
		}
	}
}

func pick[T any](t *rapid.T, label string, from []T) T {
	if len(from) == 0 {
		t.Skip("no " + label)
	}
	return rapid.SampledFrom(from).Draw(t, label)
}

func (w *world) running() []ids.ResourceID {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.containers)), func(id ids.ResourceID) bool {
		return w.containers[id] != "running"
	})
}

func (w *world) connection(t *rapid.T) (actor.ConnectionID, ids.ResourceID) {
	c := pick(t, "connection", slices.Sorted(maps.Keys(w.connections)))
	return c, w.connections[c]
}

func (w *world) forgetSlots(id ids.ResourceID) {
	maps.DeleteFunc(w.slots, func(s ids.SlotID, _ ids.AllocationID) bool { return s.Resource == id })
}

func (w *world) declare(t *rapid.T) {
	job := rapid.SampledFrom([]ids.JobID{"j1", "j2"}).Draw(t, "job")
	if w.jobs[job] == "" || rapid.IntRange(0, 5).Draw(t, "another") == 0 {
		w.lastID++
		w.jobs[job] = ids.JobMasterID(fmt.Sprintf("m%d", w.lastID))
		w.forget(job)
		delete(w.blocked, job)
		w.step(t, jobMasterRegistering{msg.RegisterJobMaster{Job: job, JobMaster: w.jobs[job]}})
	}
	slots := rapid.IntRange(0, 7).Draw(t, "slots")
	w.least[job] = rapid.IntRange(min(1, slots), slots).Draw(t, "least")
	w.failed[job] = false
	w.step(t, requirementsDeclared{msg.DeclareRequirements{Job: job, JobMaster: w.jobs[job], Needs: []msg.SlotNeed{{Slots: slots, Least: w.least[job]}}}})
}

// forget notes that a job has a new JobMaster, or none, and has not declared yet.
func (w *world) forget(job ids.JobID) {
	delete(w.least, job)
	delete(w.failed, job)
}

func (w *world) refused(t *rapid.T) {
	w.lastID++
	w.refusal = fmt.Sprintf(refusedFor+"for the %dth time", w.lastID)
	w.step(t, workersReported{Events: []WorkerEvent{WorkersRefused{Spec: testConfig().Worker, Reason: w.refusal}}})
}

func (w *world) refusalEnds(t *rapid.T) {
	w.refusal = ""
	w.step(t, workersReported{Events: []WorkerEvent{RefusalEnded{Spec: testConfig().Worker}}})
	if rapid.Bool().Draw(t, "taken at once") {
		w.step(t, workersReported{Events: []WorkerEvent{OrdersTaken{Spec: testConfig().Worker}}})
	}
}

func (w *world) unknownDeclares(t *rapid.T) {
	job := rapid.SampledFrom([]ids.JobID{"j1", "j3"}).Draw(t, "job")
	w.unchanged(t, requirementsDeclared{msg.DeclareRequirements{Job: job, JobMaster: "m0", Needs: []msg.SlotNeed{{Slots: 3}}}})
	w.unchanged(t, jobMasterGone{Job: job, JobMaster: "m0"})
	w.unchanged(t, nodesBlocked{msg.BlockNodes{Job: job, JobMaster: "m0", Nodes: []msg.BlockedNode{{Node: "h1"}}}})
}

// block makes a job set nodes aside, sometimes all nodes.
func (w *world) block(t *rapid.T) {
	job := pick(t, "job", slices.Sorted(maps.Keys(w.jobs)))
	w.step(t, workersReported{Events: []WorkerEvent{NodesChanged{Nodes: []string{"h1", "h2"}}}})
	w.blocked[job] = rapid.SliceOfDistinct(rapid.Custom(func(t *rapid.T) msg.BlockedNode {
		return msg.BlockedNode{Node: rapid.SampledFrom([]string{"h1", "h2"}).Draw(t, "node")}
	}), func(n msg.BlockedNode) string { return n.Node }).Draw(t, "blocked")
	w.failed[job] = false // the job may try again without these nodes
	told := false
	for _, effect := range w.step(t, nodesBlocked{msg.BlockNodes{Job: job, JobMaster: w.jobs[job], Nodes: w.blocked[job]}}) {
		if sent, is := effect.(sendJobMaster); is {
			_, told = sent.Message.(msg.AllNodesBlocked)
		}
	}
	if told && len(w.blocked[job]) < 2 {
		t.Fatalf("job %s is told that all nodes are blocked, and has blocked %v", job, w.blocked[job])
	}
}

func has(list []msg.BlockedNode, node string) bool {
	return slices.ContainsFunc(list, func(n msg.BlockedNode) bool { return n.Node == node })
}

func (w *world) jobMasterEnds(t *rapid.T) {
	job := pick(t, "job", slices.Sorted(maps.Keys(w.jobs)))
	w.forget(job)
	w.step(t, jobMasterGone{Job: job, JobMaster: w.jobs[job]})
	delete(w.jobs, job)
	delete(w.blocked, job)
}

// workerStarts starts a worker that is ordered, or was ordered: the provider may not know yet that
// the order was cancelled.
func (w *world) workerStarts(t *rapid.T) {
	if w.starts >= w.total && (w.starts >= w.most || rapid.IntRange(0, 3).Draw(t, "crosses") > 0) {
		t.Skip("no worker is ordered")
	}
	w.lastID++
	w.starts++
	id := ids.ResourceID(fmt.Sprintf("w%03d", w.lastID))
	w.containers[id] = "running"
	w.hosts[id] = rapid.SampledFrom([]string{"h1", "h2"}).Draw(t, "host")
	w.step(t, workersReported{Events: []WorkerEvent{WorkerStarting{Worker: id, Spec: testConfig().Worker, Host: w.hosts[id]}}})
}

func (w *world) workerEnds(t *rapid.T) {
	id := pick(t, "worker", w.running())
	w.containers[id] = "ended"
	maps.DeleteFunc(w.connections, func(_ actor.ConnectionID, worker ids.ResourceID) bool { return worker == id })
	w.forgetSlots(id)
	w.step(t, workersReported{Events: []WorkerEvent{rapid.SampledFrom([]WorkerEvent{
		WorkerCompleted{Worker: id, Cause: "ended"}, WorkerFailed{Worker: id, Cause: "failed"},
	}).Draw(t, "end")}})
}

func (w *world) register(t *rapid.T) {
	id := pick(t, "worker", w.running())
	w.lastID++
	c := actor.ConnectionID(w.lastID)
	maps.DeleteFunc(w.connections, func(_ actor.ConnectionID, worker ids.ResourceID) bool { return worker == id })
	w.connections[c] = id
	report := make([]msg.SlotStatus, testConfig().Worker.Slots)
	for i := range report {
		report[i].Index = i
		slot := ids.SlotID{Resource: id, Index: i}
		if w.slots[slot] != "" && rapid.Bool().Draw(t, "kept") {
			report[i].Allocation, report[i].Job = w.slots[slot], w.holders[w.slots[slot]]
		} else {
			delete(w.slots, slot)
		}
	}
	w.step(t, taskExecutorSaid{From: actor.Peer{Connection: c, Resource: id}, Message: msg.RegisterTaskExecutor{
		ProtocolVersion: jobgraph.ProtocolVersion, Resource: id, Host: w.hosts[id], Slots: report,
	}})
}

func (w *world) disconnect(t *rapid.T) {
	c, id := w.connection(t)
	delete(w.connections, c)
	w.step(t, taskExecutorDisconnected{From: actor.Peer{Connection: c, Resource: id}, Cause: "cut"})
	w.unchanged(t, taskExecutorSaid{From: actor.Peer{Connection: c, Resource: id}, Message: msg.SlotReport{Slots: []msg.SlotStatus{{Index: 0}, {Index: 1}}}})
	w.unchanged(t, taskExecutorDisconnected{From: actor.Peer{Connection: c, Resource: id}, Cause: "cut again"})
}

func (w *world) slot(t *rapid.T) (ids.SlotID, ids.AllocationID) {
	slots := slices.SortedFunc(maps.Keys(w.slots), func(a, b ids.SlotID) int {
		return slices.Compare([]byte(a.String()), []byte(b.String()))
	})
	s := pick(t, "slot", slots)
	return s, w.slots[s]
}

// say sends a message over the connection of a slot's worker.
func (w *world) say(t *rapid.T, id ids.ResourceID, m msg.Message) {
	for _, c := range slices.Sorted(maps.Keys(w.connections)) {
		if w.connections[c] == id {
			w.step(t, taskExecutorSaid{From: actor.Peer{Connection: c, Resource: id}, Message: m})
			return
		}
	}
	t.Skip("not connected")
}

func (w *world) answer(t *rapid.T) {
	slot, allocation := w.slot(t)
	w.say(t, slot.Resource, msg.SlotRequestsAnswered{Taken: []msg.SlotOffer{{Index: slot.Index, Allocation: allocation}}})
}

func (w *world) free(t *rapid.T) {
	slot, allocation := w.slot(t)
	if !slices.Contains(slices.Collect(maps.Values(w.connections)), slot.Resource) {
		t.Skip("not connected")
	}
	delete(w.slots, slot)
	w.say(t, slot.Resource, msg.SlotsFreed{Slots: []msg.SlotOffer{{Index: slot.Index, Allocation: allocation}}})
}

func (w *world) stale(t *rapid.T) {
	c, id := w.connection(t)
	w.unchanged(t, taskExecutorSaid{From: actor.Peer{Connection: c, Resource: id}, Message: msg.SlotsFreed{Slots: []msg.SlotOffer{{Allocation: "stale"}}}})
	w.unchanged(t, taskExecutorSaid{From: actor.Peer{Connection: c, Resource: id}, Message: msg.SlotRequestsAnswered{Refused: []msg.SlotRefusal{{SlotOffer: msg.SlotOffer{Index: 1, Allocation: "stale"}, Reason: "x"}}}})
	w.unchanged(t, taskExecutorSaid{From: actor.Peer{Connection: c + 100_000, Resource: id}, Message: msg.SlotReport{}})
	w.unchanged(t, taskExecutorDisconnected{From: actor.Peer{Connection: c + 100_000, Resource: id}})
	w.unchanged(t, taskExecutorSaid{From: actor.Peer{Resource: id}, Message: msg.RegisterTaskExecutor{ // connections have numbers from 1
		ProtocolVersion: jobgraph.ProtocolVersion, Resource: id, Host: w.hosts[id], Slots: []msg.SlotStatus{{Index: 0}, {Index: 1}},
	}})
}

func (w *world) heartbeat(t *rapid.T) {
	c, id := w.connection(t)
	w.step(t, taskExecutorSaid{From: actor.Peer{Connection: c, Resource: id}, Message: msg.Heartbeat{}})
}

func (w *world) newTokens(t *rapid.T) {
	w.lastID++
	w.tokens = fmt.Sprintf("t%d", w.lastID)
	w.step(t, tokensUpdated{Tokens: msg.Secret(w.tokens)})
}

func (w *world) timePasses(t *rapid.T) {
	w.now = w.now.Add(time.Duration(rapid.IntRange(1, 60_000).Draw(t, "ms")) * time.Millisecond)
	w.step(t, woken{})
	// A worker that was given up is not connected any more.
	maps.DeleteFunc(w.connections, func(_ actor.ConnectionID, id ids.ResourceID) bool { return w.containers[id] != "running" })
	for _, id := range slices.Sorted(maps.Keys(w.containers)) {
		if w.containers[id] != "running" {
			w.forgetSlots(id)
		}
	}
}
