package resourcemanager

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/patience"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// The containers of workers of earlier masters are "" at first, "previous" when they are listed, and "running" when they have
// returned. One that was reported ended before it has returned is "" again.

// waits tells whether no worker may be ordered: in standby, and while workers of earlier masters are to return.
func (w *world) waits() bool {
	if !w.config.Standby {
		return false
	}
	recovering := !w.listed || slices.Contains(slices.Collect(maps.Values(w.containers)), "previous")
	return w.leads.IsZero() || recovering && !w.returns.Passed(w.now)
}

func (w *world) lead(t *rapid.T) {
	if !w.leads.IsZero() {
		t.Skip("it leads")
	}
	w.leads, w.returns = w.now, patience.After(w.now, w.config.RecoveryTimeout)
	w.step(t, leading{})
}

// earlier draws a worker of the first attempt in one of these states.
func (w *world) earlier(t *rapid.T, states ...string) ids.ResourceID {
	if !w.config.Standby {
		t.Skip("it is the first attempt")
	}
	var list []ids.ResourceID
	for i := range 6 {
		if id := workerID(fmt.Sprint("p", i+1)); slices.Contains(states, w.containers[id]) {
			list = append(list, id)
		}
	}
	id := pick(t, "earlier worker", list)
	if w.of[id] == nil {
		w.of[id] = rapid.SampledFrom(w.sizes).Draw(t, "size")
		w.hosts[id] = rapid.SampledFrom([]string{"h1", "h2"}).Draw(t, "host")
	}
	return id
}

func (w *world) previousListed(t *rapid.T) {
	if !w.config.Standby {
		t.Skip("it is the first attempt")
	}
	w.listed = true
	if rapid.IntRange(0, 3).Draw(t, "none") == 0 {
		w.step(t, workersReported{Events: []WorkerEvent{PreviousWorkers{}}})
		return
	}
	id := w.earlier(t, "", "previous", "running", "released")
	switch w.containers[id] {
	case "":
		w.containers[id] = "previous"
	case "released":
		w.containers[id] = "released, and listed"
	}
	w.step(t, workersReported{Events: []WorkerEvent{PreviousWorkers{Workers: []PreviousWorker{{Worker: id, Host: w.hosts[id]}}}}})
	if w.containers[id] == "released, and listed" {
		t.Fatalf("worker %s was given up, and is not released again", id)
	}
}

// previousReturns registers a worker of the first attempt, with the slots that it holds for jobs.
func (w *world) previousReturns(t *rapid.T) {
	id := w.earlier(t, "", "previous")
	if w.leads.IsZero() {
		t.Skip("it does not lead")
	}
	s := w.of[id]
	for i := range s.spec.Slots {
		if job := rapid.SampledFrom([]ids.JobID{"", "j1", "j2", "j9"}).Draw(t, "job"); job != "" {
			w.lastID++
			allocation := ids.AllocationID(fmt.Sprint("old", w.lastID))
			w.slots[ids.SlotID{Resource: id, Index: i}], w.holders[allocation] = allocation, job
		}
	}
	sum := w.registeredTotals().Plus(1, s.spec.totals())
	_, crowded := w.config.Ceiling.Exceeded(sum)
	w.containers[id], s.known = "running", s.known || !crowded
	if crowded {
		w.forgetSlots(id)
	}
	registered := slices.ContainsFunc(w.registered(t, id), func(e effect) bool {
		sent, _ := e.(sendTaskExecutor)
		_, is := sent.Message.(msg.TaskExecutorRegistered)
		return is
	})
	if registered == crowded || crowded && w.containers[id] != "released" {
		t.Fatalf("worker %s is %s; it was registered: %t, and the workers with it have %v", id, w.containers[id], registered, sum)
	}
}

// previousEnds makes the provider report the end of a worker that has not returned.
func (w *world) previousEnds(t *rapid.T) {
	id := w.earlier(t, "", "previous")
	w.containers[id] = ""
	w.step(t, workersReported{Events: []WorkerEvent{WorkerCompleted{Worker: id, Cause: "ended"}}})
}

// returnsTooLate registers a worker of the first attempt that was given up.
func (w *world) returnsTooLate(t *rapid.T) {
	id := w.earlier(t, "ended", "released")
	if w.leads.IsZero() {
		t.Skip("it does not lead")
	}
	w.lastID++
	before := w.core.status()
	effects := w.step(t, taskExecutorSaid{From: actor.Peer{Connection: actor.ConnectionID(w.lastID), Resource: id}, Message: msg.RegisterTaskExecutor{
		ProtocolVersion: jobgraph.ProtocolVersion, Resource: id, Host: w.hosts[id], Slots: make([]msg.SlotStatus, w.of[id].spec.Slots),
		Profile: w.of[id].spec.Profile, Memory: w.of[id].spec.Memory, VCores: w.of[id].spec.VCores,
	}})
	rejected := slices.ContainsFunc(effects, func(e effect) bool {
		sent, _ := e.(sendTaskExecutor)
		_, is := sent.Message.(msg.RegistrationRejected)
		return is
	})
	if after := w.core.status(); !rejected || len(after.TaskExecutors) > len(before.TaskExecutors) {
		t.Fatalf("worker %s was %s, and returns: %+v", id, w.containers[id], effects)
	}
}

// TestManyWorkersHaveLongerToReturn would catch a master that orders thousands of workers in place of those that are just
// about to look for it.
func TestManyWorkersHaveLongerToReturn(t *testing.T) {
	t.Parallel()
	for timeout, want := range map[string]time.Duration{"3 s": 33 * time.Second, "0 s": 0} {
		s := &script{t: t, config: testConfig(), now: testEpoch}
		s.command("config " + config.PreviousWorkerRecovery.Name() + "=" + strings.ReplaceAll(timeout, " ", ""))
		s.command("attempt 2")
		s.command("lead")
		e := PreviousWorkers{}
		for i := range 10_000 {
			e.Workers = append(e.Workers, PreviousWorker{Worker: workerID(fmt.Sprint("p", i+1))})
		}
		s.step(workersReported{Events: []WorkerEvent{e}})
		s.command("jobmaster j1 m1")
		ordered := s.command("declare j1 m1 20000")
		for ; len(ordered) == 0 || !strings.Contains(ordered[0], "order"); ordered = s.command("wait 1s") {
			if s.now.Sub(testEpoch) > time.Minute {
				t.Fatalf("with %s no worker is ordered", timeout)
			}
		}
		if got := s.now.Sub(testEpoch).Truncate(time.Second); got != want {
			t.Errorf("with %s workers are ordered after %v, want %v", timeout, got, want)
		}
	}
}

// registeredTotals sums up the workers that have registered.
func (w *world) registeredTotals() (sum config.WorkerTotals) {
	for id := range w.here {
		if w.containers[id] == "running" {
			sum = sum.Plus(1, w.of[id].spec.totals())
		}
	}
	return sum
}
