package yarn

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

func TestEveryClusterHasMemoryAndCores(t *testing.T) {
	t.Parallel()
	client := newClient(t, clusters.Use(t, clusters.Features), me(t))
	types, err := client.ResourceTypes(t.Context())
	want := []records.ResourceType{{Name: records.ResourceMemory, Units: "Mi"}, {Name: records.ResourceVCores}}
	byName := cmpopts.SortSlices(func(a, b records.ResourceType) bool { return a.Name < b.Name })
	if diff := cmp.Diff(want, types, byName); err != nil || diff != "" {
		t.Errorf("resource types: %v (-want +got):\n%s", err, diff)
	}
	if _, err := client.ResourceProfiles(t.Context()); !errors.Is(err, yarnrpc.ErrYarn) {
		t.Errorf("profiles of a cluster without: %v", err)
	}
}

func testResources(t *testing.T, c *cluster.Cluster) {
	client := newClient(t, c, me(t))
	types, err := client.ResourceTypes(t.Context())
	want := []records.ResourceType{{Name: records.ResourceMemory, Units: "Mi"}, {Name: records.ResourceVCores}, {Name: "widgets"}}
	byName := cmpopts.SortSlices(func(a, b records.ResourceType) bool { return a.Name < b.Name })
	if diff := cmp.Diff(want, types, byName); err != nil || diff != "" {
		t.Errorf("resource types: %v (-want +got):\n%s", err, diff)
	}
	large := records.ResourceProfile{
		Name:     "large",
		Resource: records.Resource{MemoryMB: 2048, VCores: 4}.With("widgets", records.ResourceAmount{Value: 3}),
	}
	got, err := client.ResourceProfile(t.Context(), "large")
	if diff := cmp.Diff(large, got); err != nil || diff != "" {
		t.Errorf("profile: %v (-want +got):\n%s", err, diff)
	}
	profiles, err := client.ResourceProfiles(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]records.ResourceProfile{}
	for _, p := range profiles {
		named[p.Name] = p
	}
	if diff := cmp.Diff(large, named["large"]); diff != "" {
		t.Errorf("profile in the list (-want +got):\n%s", diff)
	}
	if len(named) != 4 || named["default"].Resource != (records.Resource{MemoryMB: 256, VCores: 1}) || named["minimum"].Resource.MemoryMB != 128 || named["maximum"].Resource.MemoryMB != 4096 {
		t.Errorf("profiles are %+v", profiles)
	}
	if _, err := client.ResourceProfile(t.Context(), "none"); !errors.Is(err, yarnrpc.ErrYarn) {
		t.Errorf("error for a profile that there is not: %v", err)
	}
}

// Each of the two nodes has seven widgets. A client that leaves them out of its asks gets
// more containers than there are widgets for.
func testContainersOfResources(t *testing.T, c *cluster.Cluster) {
	widgets := func(n int64) records.ResourceAmount { return records.ResourceAmount{Value: n} }
	o := observe(t, c)
	if n := o.as.Maximum.Others.Amount("widgets"); n != widgets(7) {
		t.Errorf("the largest container has %s widgets", n)
	}
	if n := o.nodes[0].Free.Others.Amount("widgets"); n != widgets(7) {
		t.Errorf("a node has %s widgets", n)
	}
	key := amrm.AskKey{Priority: 1}
	size := unit.With("widgets", widgets(5))
	o.rm.SetAsk(amrm.Ask{Key: key, Capability: size, Count: 3, Hosts: amrm.Spread(o.nodes, 3, size)})
	o.until("two containers are there", o.has(2))
	if hosts := o.hosts(); !slices.Equal(hosts, c.NodeManagers()) || o.rm.Outstanding(key) != 1 {
		t.Errorf("they are on %v, and %d are outstanding", hosts, o.rm.Outstanding(key))
	}
	for id, container := range o.running {
		if container.Resource != size || o.status(container).Capability != size {
			t.Errorf("the container is %s, and to its node %s", container.Resource, o.status(container).Capability)
		}
		if node := o.node(container.Node); node.Used.Others.Amount("widgets") != widgets(5) {
			t.Errorf("of its node %s are used", node.Used)
		}
		o.until("it runs", func() bool { return o.status(container).SubState == records.ContainerSubRunning })
		o.rm.Release(id)
		o.until("one is gone", func() bool { _, ok := o.running[id]; return !ok })
		o.until("the third takes its place", o.has(2))
		break
	}
	o.until("their use is counted", func() bool {
		report, err := o.client.ApplicationReport(t.Context(), o.id)
		if err != nil {
			t.Fatal(err)
		}
		return report.Usage.OtherSeconds.Amount("widgets").Value >= 5 // one container, for a second
	})
	o.rm.SetAsk(amrm.Ask{Key: key, Capability: unit.With("widgets", widgets(8)), Count: 1})
	if _, err := o.rm.Allocate(t.Context(), 0.5); !errors.Is(err, yarnrpc.ErrInvalidResourceRequest) {
		t.Errorf("more widgets than any node has: %v", err)
	}
	o.rm.SetAsk(amrm.Ask{Key: key, Capability: unit})
}

// node is what the ResourceManager says of a node.
func (o *observed) node(id records.NodeID) records.NodeReport {
	o.t.Helper()
	nodes, err := o.client.ClusterNodes(o.t.Context(), records.NodeRunning)
	if err != nil {
		o.t.Fatal(err)
	}
	i := slices.IndexFunc(nodes, func(n records.NodeReport) bool { return n.ID == id })
	if i < 0 {
		o.t.Fatalf("%s is not among %d nodes", id, len(nodes))
	}
	return nodes[i]
}
