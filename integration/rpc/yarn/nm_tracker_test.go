package yarn

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/resourcetracker"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

const simulatedNodes = 20

// fleet is a set of simulated nodes that send heartbeats until the test ends.
type fleet struct {
	byID map[records.NodeID]*resourcetracker.Node
}

// launchFleet registers nodes on loopback addresses that no NodeManager of the harness has.
func launchFleet(t *testing.T, client *resourcetracker.Client, version string) *fleet {
	t.Helper()
	f := &fleet{byID: map[records.NodeID]*resourcetracker.Node{}}
	for i := range simulatedNodes {
		node := resourcetracker.NewNode(client, resourcetracker.Registration{
			Node:     records.NodeID{Host: fmt.Sprintf("127.1.0.%d", i+1), Port: 45454},
			HTTPPort: 8042, Resource: records.Resource{MemoryMB: 2048, VCores: 8}, Version: version,
		})
		if err := node.Register(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.byID[node.ID()] = node
	}
	ctx, cancel := context.WithCancel(t.Context())
	var beats errgroup.Group
	for _, node := range f.byID {
		beats.Go(func() error {
			ticker := time.NewTicker(200 * time.Millisecond)
			defer ticker.Stop()
			for {
				if err := node.Beat(ctx); err != nil && ctx.Err() == nil {
					return err
				}
				select {
				case <-ticker.C:
				case <-ctx.Done():
					return nil
				}
			}
		})
	}
	t.Cleanup(func() {
		cancel()
		if err := beats.Wait(); err != nil {
			t.Error(err)
		}
		for id, node := range f.byID { // otherwise the ResourceManager continues to give them work
			if err := node.Unregister(wait.Context(t)); err != nil {
				t.Errorf("unregister %s: %v", id, err)
			}
		}
	})
	return f
}

func trackerClient(t *testing.T, c *cluster.Cluster) *resourcetracker.Client {
	t.Helper()
	return rpctest.Closing(t, resourcetracker.New(resourcetracker.Options{
		Addresses: []string{rpctest.Conf(t, c).Get("yarn.resourcemanager.resource-tracker.address")},
		RPC:       yarnrpc.Options{Auth: yarnrpc.Auth{User: yarnrpc.UserInformation{Effective: rpctest.Me(t)}}},
	}))
}

// simulated counts the fleet's nodes in the ResourceManager's REST, by state, and their containers.
func (f *fleet) simulated(t *testing.T, c *cluster.Cluster) (states map[string]int, containers int) {
	t.Helper()
	nodes, err := c.RM().Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	states = map[string]int{}
	for _, n := range nodes {
		id, err := records.ParseNodeID(n.ID)
		if err != nil {
			t.Fatal(err)
		}
		if f.byID[id] != nil {
			states[n.State]++
			containers += n.Containers
		}
	}
	return states, containers
}

// TestSimulatedNodeManagers tests package resourcetracker with a real ResourceManager. The ResourceManager must treat
// simulated nodes like real ones: give their room to an application, believe their reports of containers, and make
// tokens that they accept.
func TestSimulatedNodeManagers(t *testing.T) {
	c := clusters.Change(t, clusters.Victim, "adds simulated NodeManagers")
	tracker := trackerClient(t, c)
	var before cluster.RMMetrics
	wait.For(t, "no container runs", func() (done bool, err error) { // the count of the room is wrong while a container is released
		before, err = c.RM().Metrics(t.Context())
		return before.ContainersAllocated == 0, err
	})
	info, err := c.RM().Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f := launchFleet(t, tracker, info.HadoopVersion)
	wait.Until(t, "20 more nodes run", func() bool {
		states, _ := f.simulated(t, c)
		return states["RUNNING"] == simulatedNodes
	})
	// The scheduler learns of them a moment later.
	wait.For(t, "the cluster has their room", func() (bool, error) {
		metrics, err := c.RM().Metrics(t.Context())
		return metrics.ActiveNodes == before.ActiveNodes+simulatedNodes && metrics.TotalMB == before.TotalMB+simulatedNodes*2048, err
	})

	m, report := rpctest.Unmanaged(t, c, rpctest.Client(t, c, rpctest.Me(t)))
	ctx := t.Context()

	// 8 containers of each simulated node, and of no other node.
	const each = 8
	hosts := make([]amrm.HostAsk, 0, len(f.byID))
	for id := range f.byID {
		hosts = append(hosts, amrm.HostAsk{Host: id.Host, Rack: "/default-rack", Count: each})
	}
	m.RM.SetAsk(amrm.Ask{
		Key: amrm.AskKey{Priority: 1}, Capability: records.Resource{MemoryMB: 256, VCores: 1}, Count: each * simulatedNodes, Hosts: hosts, Strict: true,
	})
	var running sync.Map // container to node
	started := 0
	m.Heard = func(r amrm.Response) {
		for _, container := range r.Allocated {
			node := f.byID[container.Node]
			if node == nil {
				t.Fatalf("%s is on %s, which was not requested", container.ID, container.Node)
			}
			checkTokens(t, node, container, m.RM.NMTokens()[container.Node])
			node.Start(container)
			running.Store(container.ID, node)
			started++
		}
	}
	m.Await(t, "all containers are allocated", "", func() bool { return started >= each*simulatedNodes })
	wait.Until(t, "the ResourceManager's REST tells of them", func() bool {
		_, containers := f.simulated(t, c)
		app, err := c.RM().App(ctx, report.ID.String())
		return err == nil && containers == each*simulatedNodes && app.RunningContainers == each*simulatedNodes && app.AllocatedMB == each*simulatedNodes*256
	})

	// Half of them end by themselves, each with an exit code of its own.
	codes := map[records.ContainerID]records.ExitStatus{}
	running.Range(func(id, node any) bool {
		if len(codes) < each*simulatedNodes/2 {
			code := records.ExitStatus(len(codes) % 100)
			codes[id.(records.ContainerID)] = code
			if !node.(*resourcetracker.Node).Complete(id.(records.ContainerID), code, "as simulated") {
				t.Errorf("%v did not run", id)
			}
		}
		return true
	})
	m.Await(t, "the ApplicationMaster is told of all ends", "", func() bool { return len(m.Completed) == len(codes) })
	for id, code := range codes {
		if s := m.Completed[id]; s.ExitStatus != code {
			t.Errorf("%s ended as %+v, want %d", id, s, code)
		}
	}
	m.Await(t, "the ended ones are forgotten by their nodes", "", func() bool {
		left := 0
		for _, node := range f.byID {
			left += len(node.Containers())
		}
		_, containers := f.simulated(t, c)
		return left == each*simulatedNodes/2 && containers == each*simulatedNodes/2
	})

	// The released ones end on their nodes.
	running.Range(func(id, _ any) bool {
		if _, ended := codes[id.(records.ContainerID)]; !ended {
			m.RM.Release(id.(records.ContainerID))
		}
		return true
	})
	m.Await(t, "nothing runs any more", "", func() bool {
		_, containers := f.simulated(t, c)
		left := 0
		for _, node := range f.byID {
			for _, s := range node.Containers() {
				if s.State != records.ContainerComplete {
					left++
				}
			}
		}
		return containers == 0 && left == 0
	})
	if err := m.RM.Finish(ctx, records.FinalSucceeded, "", ""); err != nil {
		t.Error(err)
	}

	// An unhealthy node gets no work, and one that unregisters is removed at once.
	var first, second *resourcetracker.Node
	for _, node := range f.byID {
		first, second = second, node
	}
	second.SetHealth("its disks are full")
	if err := first.Unregister(ctx); err != nil {
		t.Error(err)
	}
	wait.Until(t, "one node is unhealthy", func() bool {
		states, _ := f.simulated(t, c)
		return states["UNHEALTHY"] == 1
	})
	// The fleet continues its heartbeats. The node is ordered to register again, and is back.
	wait.Until(t, "the node that left is back", func() bool {
		states, _ := f.simulated(t, c)
		return states["RUNNING"] == simulatedNodes-1
	})

	small := resourcetracker.NewNode(tracker, resourcetracker.Registration{
		Node: records.NodeID{Host: "127.1.1.1", Port: 1}, Resource: records.Resource{MemoryMB: 1, VCores: 1}, Version: info.HadoopVersion,
	})
	if err := small.Register(ctx); !errors.Is(err, resourcetracker.ErrRefused) {
		t.Errorf("a node that is too small for any container: %v", err)
	}
}

// checkTokens checks the tokens that an ApplicationMaster would show to the node: the ResourceManager must have made
// them with the keys that it gave to the node.
func checkTokens(t *testing.T, node *resourcetracker.Node, container records.Container, nm *creds.Token) {
	t.Helper()
	keys := node.Registered()
	id, err := identifier.DecodeContainer(container.Token)
	if err != nil || id.ID != container.ID || id.RMIdentifier != keys.RMIdentifier || id.KeyID != keys.ContainerTokenKey.ID {
		t.Errorf("the container's token is of %+v, %v; the node has %v of %d", id, err, keys.ContainerTokenKey, keys.RMIdentifier)
	}
	if string(keys.ContainerTokenKey.Password(container.Token.Identifier)) != string(container.Token.Password) {
		t.Errorf("the node does not take the token of %s", container.ID)
	}
	if nm == nil || string(keys.NMTokenKey.Password(nm.Identifier)) != string(nm.Password) {
		t.Errorf("the node does not take the ApplicationMaster's token %v", nm)
	}
}
