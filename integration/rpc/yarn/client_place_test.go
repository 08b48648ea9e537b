package yarn

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestMastersRunWhereTheyAreWanted would catch a place that the submission does not contain. There are three masters
// for each of two nodes: without the places, all would be right by chance once in 64 times.
func TestMastersRunWhereTheyAreWanted(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	client := rpctest.Client(t, c, rpctest.Me(t))
	nodes := rpctest.Nodes(t, client)
	if len(nodes) != 2 {
		t.Fatalf("nodes are %+v", nodes)
	}
	wanted := map[records.ApplicationID]string{}
	for range 3 {
		for _, n := range nodes {
			application := rpctest.Shell("exec sleep 1000")
			application.Place = records.MasterPlace{Hosts: []string{n.Host}, Racks: []string{n.Rack}, Strict: true}
			wanted[rpctest.Submit(t, client, application).ID] = n.Host
		}
	}
	onRack := rpctest.Shell("exec sleep 1000")
	onRack.Place = records.MasterPlace{Racks: []string{nodes[0].Rack}}
	wanted[rpctest.Submit(t, client, onRack).ID] = "" // any host of the rack, after a delay that must end
	for id, host := range wanted {
		var master records.ContainerID
		rpctest.Await(t, client, id, "given a container", func(r records.ApplicationReport) bool {
			attempt, err := client.Attempt(t.Context(), r.Attempt)
			if err != nil {
				t.Fatal(err)
			}
			master = attempt.MasterContainer
			return !master.IsZero()
		})
		container, err := client.Container(t.Context(), master)
		if err != nil || host != "" && container.Node.Host != host {
			t.Errorf("%s is on %s instead of %s, %v", id, container.Node, host, err)
		}
	}
}
