package yarn

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestContainersThatShunEachOther would catch a constraint, a tag or a count that does not reach the scheduler.
func TestContainersThatShunEachOtherAreOnDifferentNodes(t *testing.T) {
	t.Parallel()
	o := observe(t, clusters.Use(t, clusters.Features), "default")
	specs, err := records.ParsePlacementSpec("shy(3),notin,node,shy")
	if err != nil {
		t.Fatal(err)
	}
	key := amrm.AskKey{Priority: 3, RequestID: 1}
	o.RM.SetSchedulingRequest(amrm.SchedulingRequest{
		Key: key, Capability: rpctest.Unit(), Count: specs[0].Count, Tags: []string{specs[0].Tag}, Constraint: specs[0].Constraint,
	})
	o.until("two are placed", o.Has(2))
	if hosts := o.Hosts(); !slices.Equal(hosts, hostsOf(o.Master)) || o.RM.Outstanding(key) != 1 {
		t.Errorf("they are on %v, and %d are outstanding", hosts, o.RM.Outstanding(key))
	}
	for id, container := range o.Running {
		if !slices.Equal(container.AllocationTags, []string{"shy"}) {
			t.Errorf("tags are %v", container.AllocationTags)
		}
		// The third has no place until one of the two has ended, and then only there.
		o.runs(container)
		o.release(id)
		o.until("the third is placed", o.Has(2))
		break
	}
	if hosts := o.Hosts(); !slices.Equal(hosts, hostsOf(o.Master)) || o.RM.Outstanding(key) != 0 {
		t.Errorf("they are on %v, and %d are outstanding", hosts, o.RM.Outstanding(key))
	}
}

// TestAContainerGrowsAndShrinks would catch a size that only one of the ResourceManager and the node knows. The node
// would kill a container that is larger only for the ResourceManager.
func TestAContainerGrowsAndShrinks(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	o := observe(t, c, "default")
	o.Ask(1)
	o.until("a container is there", o.Has(1))
	container := o.one()
	for _, memory := range []int64{512, 256} {
		to := records.Resource{MemoryMB: memory, VCores: rpctest.Unit().VCores}
		o.updated = nil
		if err := o.RM.Resize(container, to); err != nil {
			t.Fatal(err)
		}
		if err := o.RM.Resize(container, to); !errors.Is(err, amrm.ErrUpdateOutstanding) {
			t.Errorf("a second update at once: %v", err)
		}
		o.until("its size has changed", func() bool { return len(o.updated)+len(o.refused) > 0 })
		if len(o.updated) != 1 || o.updated[0].Container.Resource != to || o.updated[0].Container.Version != container.Version+1 {
			t.Fatalf("updates are %+v, refused %v", o.updated, o.refused)
		}
		container = o.updated[0].Container
		if o.updated[0].Type == amrm.Increase {
			if err := o.NM.Update(t.Context(), container); err != nil {
				t.Fatal(err)
			}
		}
		o.until("its node and YARN say so", func() bool {
			app, err := c.RM().App(t.Context(), o.id.String())
			return err == nil && int64(app.AllocatedMB) == memory && o.status(container).Capability == to && nodeMemory(t, container) == memory
		})
		// Its node now knows this version.
		if err := o.NM.Update(t.Context(), container); !errors.Is(err, yarnrpc.ErrYarn) || yarnrpc.MaybeSent(err) {
			t.Errorf("the same update again: %v", err)
		}
	}
	if err := o.RM.Resize(container, records.Resource{MemoryMB: 1 << 30, VCores: 1}); err != nil {
		t.Fatal(err)
	}
	o.until("too large a size is refused", func() bool { return len(o.refused) > 0 })
	if o.refused[0].Reason != amrm.ReasonRange {
		t.Errorf("refused because %v", o.refused[0])
	}
}

// TestHostsThatAreAvoidedGetNothing would catch a list of hosts that is sent twice, or never withdrawn.
func TestHostsThatAreAvoidedGetNothing(t *testing.T) {
	t.Parallel()
	o := observe(t, clusters.Use(t, clusters.Features), "default")
	avoided, other := o.Nodes[0].Host, o.Nodes[1].Host
	o.RM.Blacklist([]string{avoided}, nil)
	o.Ask(4) // which names both hosts
	o.until("four containers are there", o.Has(4))
	if hosts := o.Hosts(); slices.Contains(hosts, avoided) {
		t.Errorf("they are on %v", hosts)
	}
	// If the other one is avoided instead, only the first is left.
	o.RM.Blacklist([]string{other}, []string{avoided})
	o.Ask(2)
	o.until("two more are there", o.Has(6))
	if hosts := o.Hosts(); !slices.Equal(hosts, slices.Sorted(slices.Values([]string{avoided, avoided, other, other, other, other}))) {
		t.Errorf("they are on %v", hosts)
	}
}

// TestAKilledResourceManagerGetsBackEachAskOnce would catch asks and scheduling requests that a master loses with its
// ResourceManager, or sends to the next one twice.
func TestAKilledResourceManagerGetsBackEachAskOnce(t *testing.T) {
	cluster.Long(t)
	c := clusters.Change(t, clusters.Features, "kills the ResourceManager")
	o := observe(t, c, "default")
	// Two run. Two asks and a scheduling request have no place.
	o.Ask(2)
	o.until("two containers are there", o.Has(2))
	o.RM.Blacklist(c.NodeManagers(), nil)
	o.until("no host is left", func() bool { return !o.RM.Changed() })
	o.Ask(2)
	request := amrm.SchedulingRequest{
		Key: amrm.AskKey{Priority: 7}, Capability: rpctest.Unit(), Count: 2, Tags: []string{"shy"},
		Constraint: records.Apart(records.ScopeNode, records.OwnTags("shy")...),
	}
	o.RM.SetSchedulingRequest(request)
	o.until("YARN knows", func() bool { return !o.RM.Changed() })
	if err := c.Kill(t.Context(), "resourcemanager"); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(t.Context(), "resourcemanager"); err != nil {
		t.Fatal(err)
	}
	o.until("it is registered again", func() bool { return o.Resyncs == 1 })
	if n := o.RM.Outstanding(amrm.AskKey{Priority: 1}) + o.RM.Outstanding(request.Key); n != 4 || len(o.Running) != 2 {
		t.Errorf("%d are outstanding and %d run", n, len(o.Running))
	}
	o.RM.Blacklist(nil, c.NodeManagers())
	o.until("all have come", o.Has(6))
	if app, err := c.RM().App(t.Context(), o.id.String()); err != nil || app.RunningContainers != 6 || o.Surplus != 0 {
		t.Errorf("YARN says %+v, %v; %d came without a request", app, err, o.Surplus)
	}
}

// TestAnAskForALabelIsServedOnTheLabelledNode would catch a label that asks do not contain: no container would come
// there.
func TestAnAskForALabelIsServedOnTheLabelledNode(t *testing.T) {
	t.Parallel()
	const node = clusters.GPUNode
	o := observe(t, clusters.Use(t, clusters.Features), "default")
	o.RM.SetAsk(amrm.Ask{Key: amrm.AskKey{Priority: 5}, Capability: rpctest.Unit(), Count: 2, NodeLabel: "gpu"})
	o.RM.SetSchedulingRequest(amrm.SchedulingRequest{
		Key: amrm.AskKey{Priority: 6}, Capability: rpctest.Unit(), Count: 1, Tags: []string{"a"},
		Constraint: records.TagConstraint{Scope: records.ScopeNode, Tags: records.OwnTags("b"), Partition: "gpu"},
	})
	o.until("three containers are there", o.Has(3))
	if hosts := o.Hosts(); !slices.Equal(hosts, []string{node, node, node}) {
		t.Errorf("they are on %v", hosts)
	}
}

// nodeMemory returns the size of a container in its NodeManager's REST, in MiB.
func nodeMemory(t *testing.T, it records.Container) int64 {
	t.Helper()
	url := "http://" + it.NodeHTTPAddress + "/ws/v1/node/containers/" + it.ID.String()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Container struct {
			TotalMemoryNeededMB int64 `json:"totalMemoryNeededMB"`
		} `json:"container"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return answer.Container.TotalMemoryNeededMB
}
