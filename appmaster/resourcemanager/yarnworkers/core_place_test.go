package yarnworkers

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// orderIn gives the effects of an order for two workers, on a core with this place for workers.
func orderIn(place launch.WorkerPlace, nodes []records.NodeReport) (*core, []effect) {
	c := testCore(place, nodes)
	c.Step(testEpoch, registered{amrm.Registration{Queue: "root.default"}, testEpoch})
	return c, c.Step(testEpoch, ordered{resourcemanager.Orders{Workers: workersOf(testSpec, 2)}})
}

// asked is the allocate among effects.
func asked(t *testing.T, effects []effect) allocate {
	t.Helper()
	for _, e := range effects {
		if a, is := e.(allocate); is {
			return a
		}
	}
	t.Fatalf("nothing is asked of YARN: %v", effects)
	return allocate{}
}

// reported gives the events that effects report to the ResourceManager.
func reported(effects []effect) (events []resourcemanager.WorkerEvent) {
	for _, e := range effects {
		if told, is := e.(report); is {
			events = append(events, told.events...)
		}
	}
	return events
}

// TestWorkersAreAskedForInTheirPartition would catch workers on nodes with another label, and
// requests that name nodes on which YARN gives no containers, so that they wait.
func TestWorkersAreAskedForInTheirPartition(t *testing.T) {
	nodes := testNodes()
	nodes[1].Labels = []string{"gpu"}
	for label, host := range map[string]string{"gpu": "h2", "": "h1"} {
		_, effects := orderIn(launch.WorkerPlace{NodeLabel: label}, nodes)
		ask := asked(t, effects).asks[0]
		if ask.NodeLabel != label || ask.Count != 2 || len(ask.Hosts) != 1 || ask.Hosts[0].Host != host {
			t.Errorf("label %q: asked for %+v, want 2 on %s", label, ask, host)
		}
	}
}

// TestOpportunisticWorkersAreAskedForAsSuch would catch an execution type that is not in the
// requests.
func TestOpportunisticWorkersAreAskedForAsSuch(t *testing.T) {
	_, effects := orderIn(launch.WorkerPlace{ExecutionType: records.ExecutionOpportunistic}, testNodes())
	if got := asked(t, effects).asks[0].Key; got.ExecutionType != records.ExecutionOpportunistic {
		t.Errorf("asked for %+v", got)
	}
}

// TestWorkersAreAskedForWithWhatElseTheyNeed would catch workers without their GPUs, amounts in a
// wrong unit, and requests that name no node though a node has the resources.
func TestWorkersAreAskedForWithWhatElseTheyNeed(t *testing.T) {
	gigabytes := func(n int64) records.ResourceAmount { return records.ResourceAmount{Value: n, Units: "Gi"} }
	nodes := testNodes()
	nodes[1].Capability = nodes[1].Capability.With("disk", gigabytes(8))
	place := launch.WorkerPlace{Types: map[string]string{"space": "disk"}}
	spec := testSpec
	spec.External = "space=4"
	c := testCore(place, nodes)
	largest := records.Resource{MemoryMB: 4096, VCores: 8}.With("disk", gigabytes(8))
	c.Step(testEpoch, registered{amrm.Registration{Queue: "root.default", Maximum: largest}, testEpoch})
	ask := asked(t, c.Step(testEpoch, ordered{resourcemanager.Orders{Workers: workersOf(spec, 2)}})).asks[0]
	if ask.Capability.Others.Amount("disk") != gigabytes(4) {
		t.Errorf("asked for %s", ask.Capability)
	}
	if len(ask.Hosts) != 1 || ask.Hosts[0].Host != "h2" || ask.Hosts[0].Count != 2 {
		t.Errorf("asked for them on %+v, want 2 on h2", ask.Hosts)
	}
}

// TestWorkersUnderAConstraint would catch a constraint that is not sent to YARN, a request that is
// repeated after its containers have come, and a job that waits for ever if YARN rejects
// constraints or finds no place.
func TestWorkersUnderAConstraint(t *testing.T) {
	place := launch.WorkerPlace{Constraint: records.Apart(records.ScopeNode, records.OwnTags(launch.WorkerTag)...)}
	c, effects := orderIn(place, testNodes())
	key := amrm.AskKey{Priority: 1}
	first := asked(t, effects)
	want := []amrm.SchedulingRequest{{
		Key: key, Capability: records.Resource{MemoryMB: 1024, VCores: 1}, Count: 2,
		Tags: []string{launch.WorkerTag}, Constraint: place.Constraint,
	}}
	if diff := cmp.Diff(want, first.requests); diff != "" || len(first.asks) != 0 {
		t.Errorf("asked for %+v; requests differ (-want +got):\n%s", first.asks, diff)
	}
	effects = c.Step(testEpoch, allocated{response: amrm.Response{Allocated: []records.Container{
		{ID: containerID(2), Node: nodeID("h1"), Priority: 1}, {ID: containerID(3), Node: nodeID("h2"), Priority: 1},
	}}})
	for _, e := range effects {
		if a, is := e.(allocate); is && len(a.requests) > 0 {
			t.Errorf("asked again: %+v", a)
		}
	}

	for name, answer := range map[string]allocated{
		"YARN takes none": {err: &yarnrpc.RemoteError{Class: "org.apache.hadoop.yarn.exceptions.YarnException", Message: "placement handler is disabled"}},
		"no place is found": {response: amrm.Response{Rejected: []amrm.Rejection{
			{Key: key, Count: 2, Reason: amrm.CouldNotPlace},
		}}},
	} {
		c, _ := orderIn(place, testNodes())
		effects := c.Step(testEpoch, answer)
		told, is := effects[0].(report)
		if !is || len(told.events) != 1 {
			t.Fatalf("%s: %v, want a report", name, effects)
		}
		if _, is := told.events[0].(resourcemanager.WorkersRefused); !is {
			t.Errorf("%s: reported %v, want that workers cannot be had", name, told.events)
		}
	}
}

// TestWhenOrdersAreTaken would catch a ResourceManager that counts on workers before YARN has
// decided: under constraints YARN accepts a request and refuses it later, or gives too little. It
// would also catch one that does not count on workers whose request YARN has just accepted.
func TestWhenOrdersAreTaken(t *testing.T) {
	for name, test := range map[string]struct {
		place  launch.WorkerPlace
		atOnce bool
	}{
		"anywhere":           {launch.WorkerPlace{}, true},
		"under a constraint": {launch.WorkerPlace{Constraint: records.Apart(records.ScopeNode, records.OwnTags(launch.WorkerTag)...)}, false},
		"opportunistic":      {launch.WorkerPlace{ExecutionType: records.ExecutionOpportunistic}, false},
	} {
		c, _ := orderIn(test.place, testNodes())
		taken := func(now time.Time, e event) bool {
			return slices.Contains(reported(c.Step(now, e)), resourcemanager.WorkerEvent(resourcemanager.OrdersTaken{Spec: testSpec}))
		}
		if taken(testEpoch, allocated{err: yarnrpc.ErrInvalidResourceRequest}) {
			t.Errorf("%s: taken as YARN refuses", name)
		}
		later := testEpoch.Add(refusalTime)
		c.Step(later, woken{})
		for c.inFlight && c.profiles[0].asked == 0 { // it withdraws the refused requests
			c.Step(later, allocated{})
		}
		if got := taken(later, allocated{}); got != test.atOnce {
			t.Errorf("%s: taken once YARN has answered: %v, want %v", name, got, test.atOnce)
		}
		worker := records.Container{ID: containerID(1), Node: nodeID("h1"), Priority: 1, Resource: records.Resource{MemoryMB: 1024, VCores: 1}}
		if got := taken(later, allocated{response: amrm.Response{Allocated: []records.Container{worker}}}); got == test.atOnce {
			t.Errorf("%s: taken once YARN has given a worker: %v, want %v", name, got, !test.atOnce)
		}
	}
}

// TestAnAskThatStandsIsTaken would catch a request that never counts as accepted. YARN says nothing
// about a request under a constraint that waits for room. Meanwhile idle workers on nodes that a
// job has set aside would keep the room of its queue until the job gives up. It would also catch a
// request that counts as accepted before YARN has held it for refusalTime since the last refusal.
func TestAnAskThatStandsIsTaken(t *testing.T) {
	for name, place := range map[string]launch.WorkerPlace{
		"under a constraint": {Constraint: records.Apart(records.ScopeNode, records.OwnTags(launch.WorkerTag)...)},
		"opportunistic":      {ExecutionType: records.ExecutionOpportunistic},
	} {
		c, _ := orderIn(place, testNodes())
		now := testEpoch
		step := func(after time.Duration, e event) []resourcemanager.WorkerEvent {
			now = now.Add(after)
			return reported(c.Step(now, e))
		}
		taken := func(after time.Duration, r amrm.Response) bool {
			return slices.Contains(step(after, allocated{response: r}), resourcemanager.WorkerEvent(resourcemanager.OrdersTaken{Spec: testSpec}))
		}
		for range 2 {
			step(0, allocated{response: amrm.Response{Rejected: []amrm.Rejection{
				{Key: amrm.AskKey{Priority: 1, ExecutionType: place.ExecutionType}, Count: 2, Reason: amrm.CouldNotPlace},
			}}})
			step(refusalTime, woken{})
			if taken(0, amrm.Response{}) || taken(refusalTime-1, amrm.Response{}) {
				t.Errorf("%s: taken before YARN has held it for %s", name, refusalTime)
			}
		}
		if taken(1, amrm.Response{Resynced: true}) {
			t.Errorf("%s: taken by a ResourceManager that has just restarted", name)
		}
		if !taken(refusalTime, amrm.Response{}) {
			t.Errorf("%s: not taken when YARN has held it for %s", name, refusalTime)
		}
		if taken(refusalTime, amrm.Response{}) {
			t.Errorf("%s: taken twice", name)
		}
	}
}
