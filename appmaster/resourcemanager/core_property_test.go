package resourcemanager

import (
	"fmt"
	"maps"
	"slices"
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

// In any order of events: no slot is granted twice, or on a worker that does not exist, or with another profile than
// the job has declared; the workers of all profiles, and those that are ordered, fit under the ceiling; no worker
// is lost from the tables; every connected worker has the newest tokens; exactly the jobs that no
// slot can serve while workers are refused, or under the ceiling, are told so; stale messages change nothing; and the
// same events give the same effects; a worker that serves partitions goes only when it is lost. Workers of earlier masters return as what they are and hold, unless they were given up; in
// standby and while they are to return, no worker is ordered. Each question of a user is answered once, in time, and by the
// worker that it is about.
func TestCoreKeepsItsPromisesUnderAnyEvents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, drawConfig(t))
		w.drawSizes(t)
		w.step(t, woken{}) // orders the floor
		t.Repeat(map[string]func(*rapid.T){
			"declare":          w.declare,
			"declare again":    w.declare, // enough that jobs compete
			"worker comes":     w.workerComes,
			"block":            w.block,
			"job master ends":  w.jobMasterEnds,
			"worker starts":    w.workerStarts,
			"worker ends":      w.workerEnds,
			"register":         w.register,
			"disconnect":       w.disconnect,
			"answer":           w.answer,
			"free":             w.free,
			"serve":            w.serve,
			"stale message":    w.stale,
			"heartbeat":        w.heartbeat,
			"new tokens":       w.newTokens,
			"question":         w.ask,
			"further question": w.ask,
			"answer to it":     w.says,
			"refused":          w.refused,
			"refusal ends":     w.refusalEnds,
			"time passes":      w.timePasses,
			"lead":             w.lead,
			"previous listed":  w.previousListed,
			"previous returns": w.previousReturns,
			"previous again":   w.previousReturns,
			"previous ends":    w.previousEnds,
			"too late":         w.returnsTooLate,
			"":                 func(*rapid.T) {},
			"unknown declares": w.unknownDeclares,
		})
		w.ended = true
		w.step(t, shutdownAsked{Status: msg.ApplicationSucceeded})
		for id, state := range w.containers {
			if state == "running" || state == "previous" {
				t.Fatalf("worker %s, %s, is neither ended nor released at the end", id, state)
			}
		}
		w.replay(t)
	})
}

func (w *world) replay(t *rapid.T) {
	again := newWorld(t, w.config)
	for i, r := range w.log {
		effects := again.core.Step(r.now, r.event)
		if diff := cmp.Diff(r.effects, effects, cmpopts.EquateErrors(), sameReplies); diff != "" {
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

func (w *world) connection(t *rapid.T) (actor.ConnectionID, ids.ResourceID) {
	c := pick(t, "connection", slices.Sorted(maps.Keys(w.connections)))
	return c, w.connections[c]
}

func (w *world) declare(t *rapid.T) {
	job := rapid.SampledFrom([]ids.JobID{"j1", "j2"}).Draw(t, "job")
	if w.jobs[job] == "" || rapid.IntRange(0, 5).Draw(t, "another") == 0 {
		w.lastID++
		w.jobs[job] = ids.JobMasterID(fmt.Sprintf("m%d", w.lastID))
		w.needs[job] = make(map[*size]*demand)
		delete(w.blocked, job)
		w.step(t, jobMasterRegistering{msg.RegisterJobMaster{Job: job, JobMaster: w.jobs[job]}})
	}
	always := rapid.SampledFrom(w.sizes).Draw(t, "size")
	var needs []msg.SlotNeed
	var declared []*demand
	for _, s := range w.sizes {
		if s != always && rapid.Bool().Draw(t, "as before") {
			continue
		}
		n := msg.SlotNeed{Profile: s.spec.Profile, Slots: rapid.IntRange(0, 7).Draw(t, "slots")}
		n.Part = rapid.IntRange(min(1, n.Slots), n.Slots).Draw(t, "part")
		n.Least = rapid.IntRange(min(1, n.Slots), n.Part).Draw(t, "least")
		n.Later = rapid.IntRange(0, n.Slots).Draw(t, "later")
		needs = append(needs, n)
		s.known = true
		d := &demand{slots: n.Slots, part: n.Part, least: n.Least}
		w.needs[job][s] = d
		declared = append(declared, d)
	}
	if len(declared) > 1 {
		for _, d := range declared {
			d.least = d.part // the job runs only with the slots of a whole part
		}
	}
	w.step(t, requirementsDeclared{msg.DeclareRequirements{Job: job, JobMaster: w.jobs[job], Needs: needs}})
}

// known draws a size of workers that the core knows.
func (w *world) known(t *rapid.T) *size {
	return pick(t, "size", slices.DeleteFunc(slices.Clone(w.sizes), func(s *size) bool { return !s.known }))
}

func (w *world) refused(t *rapid.T) {
	s := w.known(t)
	w.lastID++
	s.refusal, s.sparing = fmt.Sprintf("refused for the %dth time", w.lastID), true
	w.step(t, workersReported{Events: []WorkerEvent{WorkersRefused{Spec: s.spec, Reason: s.refusal}}})
}

func (w *world) refusalEnds(t *rapid.T) {
	s := w.known(t)
	s.refusal = ""
	w.step(t, workersReported{Events: []WorkerEvent{RefusalEnded{Spec: s.spec}}})
	if rapid.Bool().Draw(t, "taken at once") {
		s.sparing = false
		w.step(t, workersReported{Events: []WorkerEvent{OrdersTaken{Spec: s.spec}}})
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
	for _, d := range w.needs[job] {
		d.told = false // the job may try again without these nodes
	}
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

func (w *world) jobMasterEnds(t *rapid.T) {
	job := pick(t, "job", slices.Sorted(maps.Keys(w.jobs)))
	delete(w.needs, job)
	w.step(t, jobMasterGone{Job: job, JobMaster: w.jobs[job]})
	delete(w.jobs, job)
	delete(w.blocked, job)
}

// workerStarts starts a worker that is ordered, or was ordered: the provider may not know yet that
// the order was cancelled.
func (w *world) workerStarts(t *rapid.T) { w.started(t) }

// workerComes starts a worker, and registers it.
func (w *world) workerComes(t *rapid.T) {
	if id := w.started(t); w.containers[id] == "running" {
		w.registered(t, id)
	}
}

func (w *world) started(t *rapid.T) ids.ResourceID {
	s := w.known(t)
	if s.starts >= s.total && (s.starts >= s.most || rapid.IntRange(0, 3).Draw(t, "crosses") > 0) {
		t.Skip("no worker is ordered")
	}
	w.lastID++
	s.starts++
	id := ids.ResourceID(fmt.Sprintf("w%03d", w.lastID))
	w.containers[id], w.of[id] = "running", s
	w.hosts[id] = rapid.SampledFrom([]string{"h1", "h2"}).Draw(t, "host")
	w.step(t, workersReported{Events: []WorkerEvent{WorkerStarting{Worker: id, Spec: s.spec, Host: w.hosts[id]}}})
	return id
}

func (w *world) workerEnds(t *rapid.T) {
	id := pick(t, "worker", w.running(nil))
	w.containers[id] = "ended"
	maps.DeleteFunc(w.connections, func(_ actor.ConnectionID, worker ids.ResourceID) bool { return worker == id })
	w.forgetSlots(id)
	w.step(t, workersReported{Events: []WorkerEvent{rapid.SampledFrom([]WorkerEvent{
		WorkerCompleted{Worker: id, Cause: "ended"}, WorkerFailed{Worker: id, Cause: "failed"},
	}).Draw(t, "end")}})
}

func (w *world) register(t *rapid.T) { w.registered(t, pick(t, "worker", w.running(nil))) }

func (w *world) registered(t *rapid.T, id ids.ResourceID) []effect {
	w.lastID++
	w.here[id] = true
	c := actor.ConnectionID(w.lastID)
	maps.DeleteFunc(w.connections, func(_ actor.ConnectionID, worker ids.ResourceID) bool { return worker == id })
	w.connections[c] = id
	report := make([]msg.SlotStatus, w.of[id].spec.Slots)
	for i := range report {
		report[i].Index = i
		slot := ids.SlotID{Resource: id, Index: i}
		if w.slots[slot] != "" && rapid.Bool().Draw(t, "kept") {
			report[i].Allocation, report[i].Job = w.slots[slot], w.holders[w.slots[slot]]
		} else {
			delete(w.slots, slot)
		}
	}
	var jobs []ids.JobID
	if w.serves[id] {
		jobs = append(jobs, "j1")
	}
	return w.step(t, taskExecutorSaid{From: actor.Peer{Connection: c, Resource: id}, Message: msg.RegisterTaskExecutor{
		Jobs: jobs, ProtocolVersion: jobgraph.ProtocolVersion, Resource: id, Host: w.hosts[id], Slots: report, Profile: w.of[id].spec.Profile,
		Memory: w.of[id].spec.Memory, VCores: w.of[id].spec.VCores,
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

// serve lets a worker begin or cease to serve partitions.
func (w *world) serve(t *rapid.T) {
	_, id := w.connection(t)
	w.serves[id] = rapid.Bool().Draw(t, "serves")
	w.say(t, id, msg.SlotReport{Partitions: w.serves[id]})
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
	most := rapid.SampledFrom([]int{2_000, 60_000}).Draw(t, "most")
	w.now = w.now.Add(time.Duration(rapid.IntRange(1, most).Draw(t, "ms")) * time.Millisecond)
	w.step(t, woken{})
}
