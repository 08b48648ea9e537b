package yarn

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

func TestEveryClusterHasMemoryAndCores(t *testing.T) {
	t.Parallel()
	client := newClient(t, hadoop.Cluster(t), me(t))
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
		Resource: records.Resource{MemoryMB: 2048, VCores: 4},
		Amounts: map[string]records.ResourceAmount{
			records.ResourceMemory: {Value: 2048, Units: "Mi"},
			records.ResourceVCores: {Value: 4},
			"widgets":              {Value: 3},
		},
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
