package jobs

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestAJobOutlivesADataNode kills the DataNode to which a task is connected, in the middle of a block that another
// DataNode has too. It would catch a job that fails or restarts because of this, and bytes of the block that are read
// twice or not at all. Then a job writes while that DataNode is dead and the NameNode does not know it. The test would
// catch a job that fails permanently.
func TestAJobOutlivesADataNode(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	c := clusters.Change(t, suite.Kind(clusters.Victim), "kills a DataNode")
	alice := suite.UserOf(t, c, bobbintest.Alice)
	writes := suite.Dawdle(t, alice, "-p", "1", "-D", "restart-strategy.fixed-delay.attempts=1000")
	text := suite.Generate(t, "-size", "12m") // more than the task reads ahead
	reads := suite.DawdleOverTo(t, alice, text, "file://", "-p", "1", "-D", "restart-strategy.type=none")
	var lost string
	wait.Until(t, "the task reads from a DataNode", func() bool {
		peers := reads.First(t, bobbintest.TaskHost).Peers(t)
		for name, address := range dataNodes(t, c) {
			if slices.Contains(peers, address) {
				lost = name
			}
		}
		return lost != ""
	})
	if err := c.Kill(t.Context(), lost); err != nil {
		t.Fatal(err)
	}
	reads.CheckSucceeds(t)

	writes.Release(t)
	wait.Until(t, "the job has written without the DataNode, or tries again", func() bool {
		var now bobbintest.JobDetails
		err := writes.Master.Get(t.Context(), "/jobs/"+writes.Job, &now)
		return !writes.Run.Running() || err == nil && now.Timestamps[msg.JobRestarting] > 0
	})
	if err := c.Restart(t.Context(), lost); err != nil {
		t.Fatal(err)
	}
	writes.CheckSucceeds(t)
}

// dataNodes returns the addresses at which the DataNodes of a Victim serve blocks, by their names.
func dataNodes(t testing.TB, c *cluster.Cluster) map[string]netip.AddrPort {
	t.Helper()
	found := make(map[string]netip.AddrPort)
	for i := range 2 {
		name := fmt.Sprintf("datanode%d", i+1)
		settings, err := c.Settings(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if found[name], err = netip.ParseAddrPort(settings["dfs.datanode.address"]); err != nil {
			t.Fatal(err)
		}
	}
	return found
}
