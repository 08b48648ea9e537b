package workers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/resourcetracker"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// said counts the reports of one kind, other than starts and ends.
func said[T resourcemanager.WorkerEvent](a *application) (n int, last T) {
	_, _, _, others := a.reports.read("")
	for _, e := range others {
		if event, is := e.(T); is {
			n, last = n+1, event
		}
	}
	return n, last
}

// hosts returns the host of each worker that was ever reported.
func (a *application) hosts() map[ids.ResourceID]string {
	a.reports.mu.Lock()
	defer a.reports.mu.Unlock()
	return maps.Clone(a.reports.starting)
}

// resize restarts all NodeManagers with this memory, and waits until the ResourceManager knows it.
func resize(t *testing.T, c *cluster.Cluster, memoryMB string) {
	t.Helper()
	var restarts errgroup.Group
	for _, name := range c.Daemons() {
		if strings.HasPrefix(name, "nodemanager") {
			restarts.Go(func() error {
				return c.Reconfigure(t.Context(), name, map[string]string{"yarn.nodemanager.resource.memory-mb": memoryMB})
			})
		}
	}
	if err := restarts.Wait(); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "all nodes have "+memoryMB+" MB", func() (bool, error) {
		nodes, err := c.RM().Nodes(t.Context())
		for _, n := range nodes {
			if fmt.Sprint(n.AvailMemoryMB+n.UsedMemoryMB) != memoryMB {
				return false, err
			}
		}
		return len(nodes) > 0, err
	})
}

// TestRefusedWorkers would catch a refusal that lasts for ever, and an application that cannot end after one. The nodes
// restart with less memory than one of the workers that run on them. YARN then refuses the request for another worker.
// It would also refuse a request that takes back the earlier ones, which named its hosts with that size. One
// application ends meanwhile. The other one gets its worker when the nodes are as large as before.
func TestRefusedWorkers(t *testing.T) {
	cluster.Long(t)
	c := clusters.Change(t, suite.Kind(clusters.Victim), "restarts the NodeManagers smaller")
	large := resourcemanager.WorkerResourceSpec{MemoryMB: 4096, VCores: 1, Slots: 1}
	ending, staying := submit(t, c), submit(t, c)
	for _, a := range []*application{ending, staying} {
		a.provider.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(large, 1)})
		a.workers.await(t, 1)
	}
	before := rpctest.Conf(t, c).Get("yarn.nodemanager.resource.memory-mb")
	resize(t, c, "2048")
	for _, a := range []*application{ending, staying} {
		a.provider.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(large, 2)})
		wait.Until(t, "YARN refuses a second worker", func() bool { n, _ := said[resourcemanager.WorkersRefused](a); return n > 0 })
		if _, refused := said[resourcemanager.WorkersRefused](a); !strings.Contains(refused.Reason, "4096 MB") || !strings.Contains(refused.Reason, "InvalidResourceRequestException") {
			t.Errorf("the reason is %q", refused.Reason)
		}
	}

	if err := ending.provider.Deregister(t.Context(), msg.ApplicationFailed, "no room for a second worker"); err != nil {
		t.Fatal(err)
	}
	if app := ending.finished(t, c); app.FinalStatus != "FAILED" || !strings.Contains(app.Diagnostics, "no room for a second worker") {
		t.Errorf("YARN says %+v", app)
	}

	resize(t, c, before)
	since := time.Now()
	staying.workers.await(t, 2)
	if n, _ := said[resourcemanager.RefusalEnded](staying); n == 0 {
		t.Error("nobody was told that the refusal has ended")
	}
	t.Logf("the second worker runs %v after the nodes were large again", time.Since(since).Round(time.Millisecond))
}

// TestAFrozenNodeManagerHoldsUpNoOther would catch stops and starts at one node that wait for another node's answers.
// After SIGSTOP a NodeManager's connections stay open, and it does not answer.
func TestAFrozenNodeManagerHoldsUpNoOther(t *testing.T) {
	c := clusters.Change(t, suite.Kind(clusters.Victim), "pauses a NodeManager")
	a := submit(t, c)
	const first, more = 8, 2
	a.provider.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(small, first)})
	a.workers.await(t, first)
	frozen := c.NodeManagers()[0]
	there := 0
	for _, host := range a.hosts() {
		if host == frozen {
			there++
		}
	}
	if there == 0 || there == first {
		t.Fatalf("%d of %d workers are on %s", there, first, frozen)
	}
	if err := c.Pause(t.Context(), "nodemanager1"); err != nil {
		t.Fatal(err)
	}

	since := time.Now()
	a.provider.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(small, first), Release: a.releases()})
	a.workers.await(t, there)
	t.Logf("%d workers on the other node have ended after %v", first-there, time.Since(since).Round(time.Millisecond))
	a.provider.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(small, first+more)})
	a.workers.await(t, there+more)

	if err := c.Resume("nodemanager1"); err != nil {
		t.Fatal(err)
	}
	a.workers.await(t, more)
	a.holds(t, c, more)
	if n, failed := said[resourcemanager.WorkerFailed](a); n != 0 {
		t.Errorf("%d workers were reported failed, the last one as %+v", n, failed)
	}
}

// TestNodesWithoutAnswersHoldUpNoOther would catch starts that wait for starts at other nodes. Six simulated nodes get
// containers like the real ones. They accept connections but do not answer, like a frozen NodeManager.
func TestNodesWithoutAnswersHoldUpNoOther(t *testing.T) {
	c := clusters.Change(t, clusters.Victim, "adds NodeManagers that do not answer")
	const nodes, each = 6, 4
	silent := silentNodes(t, c, nodes)
	a := submit(t, c)
	total := each * (nodes + len(c.NodeManagers()))
	since := time.Now()
	a.provider.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(small, total)})
	wait.Until(t, "YARN has given all workers, and those run whose nodes answer", func() bool {
		hosts, answering := a.hosts(), 0
		for _, host := range hosts {
			if !silent[host] {
				answering++
			}
		}
		return len(hosts) == total && answering > 0 && len(a.workers.running()) == answering
	})
	t.Logf("%d of %d workers run after %v", len(a.workers.running()), total, time.Since(since).Round(time.Millisecond))
	// Starts at nodes without answers fail at last, on a busy machine before YARN has granted all.
	hosts := a.hosts()
	_, _, _, others := a.reports.read("")
	for _, e := range others {
		if failed, is := e.(resourcemanager.WorkerFailed); is && !silent[hosts[failed.Worker]] {
			t.Errorf("a start at %s has failed: %+v", hosts[failed.Worker], failed)
		}
	}
	if err := a.provider.Deregister(t.Context(), msg.ApplicationSucceeded, ""); err != nil {
		t.Error(err)
	}
	if app := a.finished(t, c); app.FinalStatus != "SUCCEEDED" {
		t.Errorf("YARN says %+v", app)
	}
}

// silentNodes are simulated nodes, by host. Their addresses accept connections but do not answer until the test ends.
func silentNodes(t *testing.T, c *cluster.Cluster, n int) map[string]bool {
	t.Helper()
	info, err := c.RM().Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tracker := rpctest.Closing(t, resourcetracker.New(resourcetracker.Options{
		Addresses: []string{rpctest.Conf(t, c).Get("yarn.resourcemanager.resource-tracker.address")},
		RPC:       yarnrpc.Options{Auth: yarnrpc.Auth{User: yarnrpc.UserInformation{Effective: rpctest.Me(t)}}},
	}))
	hosts := make(map[string]bool)
	var list []*resourcetracker.Node
	for i := range n {
		host := fmt.Sprintf("127.1.0.%d", i+1)
		node := resourcetracker.NewNode(tracker, resourcetracker.Registration{
			Node: records.NodeID{Host: host, Port: listenInSilence(t, host)}, HTTPPort: 8042,
			Resource: records.Resource{MemoryMB: 8192, VCores: 32}, Version: info.HadoopVersion,
		})
		if err := node.Register(t.Context()); err != nil {
			t.Fatal(err)
		}
		hosts[host] = true
		list = append(list, node)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var beats sync.WaitGroup
	for _, node := range list {
		beats.Go(func() { beat(ctx, t, node) })
	}
	t.Cleanup(func() {
		cancel()
		beats.Wait()
		for _, node := range list {
			if err := node.Unregister(wait.Context(t)); err != nil {
				t.Errorf("unregister %s: %v", node.ID(), err)
			}
		}
	})
	return hosts
}

// listenInSilence accepts connections at a port that the kernel chooses, and sends nothing.
func listenInSilence(t *testing.T, host string) (port int) {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closing(t, listener) })
	return listener.Addr().(*net.TCPAddr).Port // the kernel accepts them
}

// beat sends heartbeats for a node until ctx ends.
func beat(ctx context.Context, t *testing.T, node *resourcetracker.Node) {
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for {
		if err := node.Beat(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, resourcetracker.ErrRefused) {
			t.Errorf("heartbeat of %s: %v", node.ID(), err)
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
