package yarn

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
)

// What clusters do not have unless they are told to: the methods about it are
// tried on a cluster that has all of it.
func TestWhatClustersHaveToBeToldToDo(t *testing.T) {
	c := cluster.ForTest(t, everything(t))
	t.Run("application priorities", func(t *testing.T) { testPriority(t, c) })
	t.Run("resource types and profiles", func(t *testing.T) { testResources(t, c) })
	t.Run("containers with a further resource type", func(t *testing.T) { testContainersOfResources(t, c) })
	t.Run("reservations", func(t *testing.T) { testReservations(t, c) })
	t.Run("node attributes", func(t *testing.T) { testNodeAttributes(t, c) })
	t.Run("node labels", func(t *testing.T) { testNodeLabels(t, c) })
}

// everything has priorities, a resource type beside memory and cores, resource
// profiles, node labels, and a queue whose capacity can be reserved.
func everything(t *testing.T) cluster.Config {
	t.Helper()
	dir := t.TempDir()
	profiles := filepath.Join(dir, "profiles.json")
	const text = `{
		"default": {"memory-mb": 256, "vcores": 1},
		"large": {"memory-mb": 2048, "vcores": 4, "widgets": 3}
	}`
	if err := os.WriteFile(profiles, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	const queue = "yarn.scheduler.capacity.root."
	return cluster.Config{
		YARN: map[string]string{
			"yarn.cluster.max-application-priority":              "10",
			"yarn.resource-types":                                "widgets",
			"yarn.nodemanager.resource-type.widgets":             "7",
			"yarn.resourcemanager.resource-profiles.enabled":     "true",
			"yarn.resourcemanager.resource-profiles.source-file": profiles,
			"yarn.node-labels.enabled":                           "true",
			"yarn.node-labels.fs-store.root-dir":                 "file://" + filepath.Join(dir, "labels"),
			"yarn.node-attribute.fs-store.root-dir":              "file://" + filepath.Join(dir, "attributes"),
			"yarn.resourcemanager.reservation-system.enable":     "true",
		},
		Scheduler: map[string]string{
			queue + "queues":                                      "default,small,plan",
			queue + "default.capacity":                            "50",
			queue + "small.capacity":                              "25",
			queue + "small.maximum-capacity":                      "25",
			queue + "plan.capacity":                               "25",
			queue + "plan.maximum-capacity":                       "100",
			queue + "plan.reservable":                             "true",
			queue + "plan.acl_submit_applications":                "*",
			queue + "accessible-node-labels.gpu.capacity":         "100",
			queue + "default.accessible-node-labels":              "gpu",
			queue + "default.accessible-node-labels.gpu.capacity": "100",
		},
	}
}

func testPriority(t *testing.T, c *cluster.Cluster) {
	client := newClient(t, c, me(t))
	id := submit(t, client, shell("sleep 60")).ID
	rm := func() int {
		t.Helper()
		var answer struct{ Priority int }
		if err := c.RM().Get(t.Context(), "apps/"+id.String()+"/priority", &answer); err != nil {
			t.Fatal(err)
		}
		return answer.Priority
	}
	if got, err := client.UpdatePriority(t.Context(), id, 4); err != nil || got != 4 || rm() != 4 {
		t.Errorf("priority is %d, %v; the ResourceManager says %d", got, err, rm())
	}
	// What is too high becomes the highest.
	if got, err := client.UpdatePriority(t.Context(), id, 99); err != nil || got != 10 || rm() != 10 {
		t.Errorf("priority is %d, %v; the ResourceManager says %d", got, err, rm())
	}
	if report, err := client.ApplicationReport(t.Context(), id); err != nil || report.Priority != 10 {
		t.Errorf("the report says %d, %v", report.Priority, err)
	}
}
