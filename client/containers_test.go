package client

import (
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// TestPeopleHearThatThereIsNoRoomNow would catch a job that waits without a message while others use the
// cluster, and a warning for an application that has room.
func TestPeopleHearThatThereIsNoRoomNow(t *testing.T) {
	for _, c := range []struct {
		name    string
		options []string
		free    []int64 // of each node, of its 4096 MB
		says    string
	}{
		{"no node runs", nil, nil, "no running node"},
		{"all is on one node", nil, []int64{1536}, ""},
		{"each has a node of its own", nil, []int64{512, 1024}, ""},
		{"the order of nodes is all the same", nil, []int64{100, 1024, 200, 512}, ""},
		{"the master has none", nil, []int64{511, 300}, "512 MB free for the ApplicationMaster now, the emptiest has 511 MB"},
		{"a worker has none", nil, []int64{1023, 512}, "1024 MB free for a TaskExecutor now, the emptiest has 1023 MB"},
		{"they have one place for two", nil, []int64{1535, 511}, "512 MB free for the ApplicationMaster and 1024 MB for a TaskExecutor now, the emptiest has 1535 MB"},
		{"two nodes that are as empty", []string{"jobmanager.memory.process.size=1g"}, []int64{1024, 1024}, ""},
		{"a node that has given out more than it has", nil, []int64{-100}, "the emptiest has 0 MB"},
		{"options count", []string{"taskmanager.memory.process.size=2g"}, []int64{1536}, "2048 MB free for a TaskExecutor"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var nodes []records.NodeReport
			for _, free := range c.free {
				nodes = append(nodes, records.NodeReport{Capability: records.Resource{MemoryMB: 4096}, Used: records.Resource{MemoryMB: 4096 - free}})
			}
			asked, err := ContainersOf(options(t, c.options...), launch.PerJob)
			if err != nil {
				t.Fatal(err)
			}
			got := asked.crowded(nil, nodes)
			if (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
				t.Errorf("%q, want %q", got, c.says)
			}
		})
	}
}

// TestALargerContainerIsTheMastersAlone would catch that the memory of workers counts as the master's, and the
// -1 that YARN reports for an ended application.
func TestALargerContainerIsTheMastersAlone(t *testing.T) {
	app := Application{asked: 512}
	for _, c := range []struct {
		name       string
		containers int
		used       int64
		want       bool
	}{
		{"as asked for", 1, 512, false},
		{"rounded up", 1, 1024, true},
		{"with a worker", 2, 2048, false},
		{"before it has its container", 0, 0, false},
		{"not told", -1, -1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked, given, got := app.RoundedUp(records.ApplicationReport{Usage: records.ResourceUsage{
				UsedContainers: c.containers, Used: records.Resource{MemoryMB: c.used},
			}})
			if got != c.want || got && (asked != 512 || given != c.used) {
				t.Errorf("%d MB instead of %d: %t, want %t", given, asked, got, c.want)
			}
		})
	}
}

// TestASessionsJobThatCanHardlyFitIsToldSo would catch a session that asks a cluster for more slots than fit
// into its memory, without a warning, and a warning about slots that the session has.
func TestASessionsJobThatCanHardlyFitIsToldSo(t *testing.T) {
	fake := fakeCluster(t, yarnfake.Config{})
	c := seenBy(t, "alice", fake, fake.Conf())
	nodes, err := c.YARN.ClusterNodes(t.Context(), records.NodeRunning)
	if err != nil || len(nodes) == 0 {
		t.Fatal(nodes, err)
	}
	var have int64
	for _, node := range nodes {
		have += node.Capability.MemoryMB
	}
	supply := msg.SlotSupply{Total: 4, PerWorker: 1, WorkerMemoryMB: int(have/2) + 1}
	for slots, says := range map[int]bool{4: false, 5: true} { // the present slots suffice
		if got, err := c.TooLarge(t.Context(), slots, supply); err != nil || (got != "") != says {
			t.Errorf("%d slots: %q, %v", slots, got, err)
		}
	}
}
