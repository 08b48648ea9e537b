package yarn

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestAClusterThatIsToldNothing would catch a client that confuses a feature that is off with one that has no entries.
func TestAClusterThatIsToldNothing(t *testing.T) {
	t.Parallel()
	client := rpctest.Client(t, clusters.Use(t, clusters.Open), rpctest.Me(t))
	types, err := client.ResourceTypes(t.Context())
	want := []records.ResourceType{{Name: records.ResourceMemory, Units: "Mi"}, {Name: records.ResourceVCores}}
	byName := cmpopts.SortSlices(func(a, b records.ResourceType) bool { return a.Name < b.Name })
	if diff := cmp.Diff(want, types, byName); err != nil || diff != "" {
		t.Errorf("resource types: %v (-want +got):\n%s", err, diff)
	}
	if _, err := client.ResourceProfiles(t.Context()); !errors.Is(err, yarnrpc.ErrYarn) {
		t.Errorf("profiles of a cluster without: %v", err)
	}
	if _, err := client.NewReservation(t.Context()); !errors.Is(err, yarnrpc.ErrYarn) {
		t.Errorf("a reservation on a cluster without: %v", err)
	}
	if labels, err := client.NodeLabels(t.Context()); err != nil || len(labels) != 0 {
		t.Errorf("labels are %+v, %v", labels, err)
	}
	if attributes, err := client.NodeAttributes(t.Context()); err != nil || len(attributes) != 0 {
		t.Errorf("attributes are %+v, %v", attributes, err)
	}
}

// TestResourceTypesAndProfiles would catch an amount that is read into another type, or lost.
func TestResourceTypesAndProfiles(t *testing.T) {
	t.Parallel()
	client := rpctest.Client(t, clusters.Use(t, clusters.Features), rpctest.Me(t))
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
	if len(named) != 4 || named["default"].Resource != (records.Resource{MemoryMB: 256, VCores: 1}) || named["minimum"].Resource.MemoryMB != 128 || named["maximum"].Resource.MemoryMB != clusters.FeaturesNodeMB {
		t.Errorf("profiles are %+v", profiles)
	}
	if _, err := client.ResourceProfile(t.Context(), "none"); !errors.Is(err, yarnrpc.ErrYarn) {
		t.Errorf("error for an unknown profile: %v", err)
	}
}

// TestContainersWithAFurtherResource runs one test after the other, because each uses all widgets of a node. Tests of other suites
// use widgets, too.
func TestContainersWithAFurtherResource(t *testing.T) {
	t.Parallel()
	c := clusters.Change(t, clusters.Features, "uses all widgets")
	t.Run("as many as there is room for", func(t *testing.T) { containersOfResources(t, c) })
	t.Run("a strict ask waits for its host until it is relaxed", func(t *testing.T) { relaxing(t, c) })
}

// containersOfResources would catch a client whose asks do not contain widgets: more containers would come than there
// are widgets for. Each of the two nodes of the default partition has seven.
func containersOfResources(t *testing.T, c *cluster.Cluster) {
	widgets := func(n int64) records.ResourceAmount { return records.ResourceAmount{Value: n} }
	o := observe(t, c, "default")
	if n := o.As.Maximum.Others.Amount("widgets"); n != widgets(7) {
		t.Errorf("the largest container has %s widgets", n)
	}
	if n := o.Nodes[0].Free.Others.Amount("widgets"); n != widgets(7) {
		t.Errorf("a node has %s widgets", n)
	}
	key := amrm.AskKey{Priority: 1}
	size := rpctest.Unit().With("widgets", widgets(5))
	o.RM.SetAsk(amrm.Ask{Key: key, Capability: size, Count: 3, Hosts: amrm.Spread(o.Nodes, 3, size)})
	o.until("two containers are there", o.Has(2))
	if hosts := o.Hosts(); !slices.Equal(hosts, hostsOf(o.Master)) || o.RM.Outstanding(key) != 1 {
		t.Errorf("they are on %v, and %d are outstanding", hosts, o.RM.Outstanding(key))
	}
	for id, container := range o.Running {
		if container.Resource != size || o.status(container).Capability != size {
			t.Errorf("the container is %s, and to its node %s", container.Resource, o.status(container).Capability)
		}
		if node := o.node(container.Node); node.Used.Others.Amount("widgets") != widgets(5) {
			t.Errorf("of its node %s are used", node.Used)
		}
		o.runs(container)
		o.release(id)
		o.until("the third takes its place", o.Has(2))
		break
	}
	o.until("their use is counted", func() bool {
		report, err := o.client.ApplicationReport(t.Context(), o.id)
		if err != nil {
			t.Fatal(err)
		}
		return report.Usage.OtherSeconds.Amount("widgets").Value >= 5 // one container, for a second
	})
	o.RM.SetAsk(amrm.Ask{Key: key, Capability: rpctest.Unit().With("widgets", widgets(8)), Count: 1})
	if _, err := o.RM.Allocate(t.Context(), 0.5); !errors.Is(err, yarnrpc.ErrInvalidResourceRequest) {
		t.Errorf("more widgets than any node has: %v", err)
	}
	o.RM.SetAsk(amrm.Ask{Key: key, Capability: rpctest.Unit()})
}
