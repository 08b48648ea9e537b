package workers

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// containers asks YARN itself how many containers the application holds. REST
// gives -1 where there is none.
func (a *application) containers(t testing.TB, c *cluster.Cluster) int {
	t.Helper()
	app, err := c.RM().App(t.Context(), a.id.String())
	if err != nil {
		t.Fatal(err)
	}
	return max(app.RunningContainers, 0)
}

// finished gives what YARN says of the application when it has ended, which is a
// moment after it unregistered.
func (a *application) finished(t testing.TB, c *cluster.Cluster) (app cluster.RMApp) {
	t.Helper()
	wait.Until(t, "the application has ended", func() bool {
		var err error
		if app, err = c.RM().App(t.Context(), a.id.String()); err != nil {
			t.Fatal(err)
		}
		return app.State == "FINISHED"
	})
	return app
}

// One worker, then ten more, on both nodes; one dies and is found out; all are
// released; the application ends with its status.
func TestWorkersComeAndGo(t *testing.T) {
	c := suite.Cluster(t)
	a := submit(t, c)
	began := time.Now()
	a.order(t, resourcemanager.Orders{Total: 1})
	a.workers.await(t, 1)
	t.Logf("order to running process, 1 worker: %v", time.Since(began))
	began = time.Now()
	a.order(t, resourcemanager.Orders{Total: 11})
	a.workers.await(t, 11)
	t.Logf("order to running process, 10 workers: %v", time.Since(began))
	a.reports.mu.Lock()
	hosts := make(map[string]int)
	for _, host := range a.reports.starting {
		hosts[host]++
	}
	a.reports.mu.Unlock()
	if len(hosts) != 2 {
		t.Errorf("workers are spread as %v", hosts)
	}
	if n := a.containers(t, c); n != 11 {
		t.Errorf("YARN counts %d containers", n)
	}

	a.killOne(t)

	a.order(t, resourcemanager.Orders{Total: 11, Release: a.releases()})
	a.workers.await(t, 0)
	wait.Until(t, "YARN counts no container", func() bool { return a.containers(t, c) == 0 })
	if starting, completed, _, others := a.reports.read(""); starting != 11 || completed != 1 || len(others) != 0 {
		t.Errorf("%d workers reported starting, %d completed, and %+v", starting, completed, others)
	}

	if err := a.driver.Deregister(t.Context(), msg.ApplicationSucceeded, "all is well"); err != nil {
		t.Fatal(err)
	}
	if app := a.finished(t, c); app.FinalStatus != "SUCCEEDED" || !strings.Contains(app.Diagnostics, "all is well") {
		t.Errorf("YARN says %+v", app)
	}
	if err := a.stop(); !errors.Is(err, errStopped) {
		t.Errorf("driver ends with %v", err)
	}
}

// killOne kills a worker's process, and has the driver look at the silent worker,
// as the ResourceManager does when a connection is lost.
func (a *application) killOne(t *testing.T) {
	t.Helper()
	var victim ids.ResourceID
	for id, pid := range a.workers.running() {
		victim = id
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		break
	}
	began := time.Now()
	a.order(t, resourcemanager.Orders{Total: 11, Check: []ids.ResourceID{victim}})
	wait.Until(t, "the killed worker is reported", func() bool {
		_, _, cause, _ := a.reports.read(victim)
		return cause != ""
	})
	t.Logf("kill to report: %v", time.Since(began))
	if _, _, cause, _ := a.reports.read(victim); !strings.Contains(cause, "(exit status 137)") {
		t.Errorf("a killed worker is reported as %q", cause)
	}
}

// Fewer workers are wanted while the first ones are on their way: what comes too
// much is given back, and YARN is left with what was wanted.
func TestSurplusIsGivenBack(t *testing.T) {
	c := suite.Cluster(t)
	a := submit(t, c)
	a.order(t, resourcemanager.Orders{Total: 6})
	wait.Until(t, "the first workers start", func() bool {
		starting, _, _, _ := a.reports.read("")
		return starting > 0
	})
	a.order(t, resourcemanager.Orders{Total: 1})
	a.order(t, resourcemanager.Orders{Total: 8})
	a.order(t, resourcemanager.Orders{Total: 7})
	a.workers.await(t, 7)
	wait.Until(t, "YARN counts 7 containers", func() bool { return a.containers(t, c) == 7 })
	if starting, completed, _, others := a.reports.read(""); starting != 7 || completed != 0 || len(others) != 0 {
		t.Errorf("%d workers reported starting, %d completed, and %+v", starting, completed, others)
	}
	a.order(t, resourcemanager.Orders{Total: 7, Release: a.releases()})
	if err := a.driver.Deregister(t.Context(), msg.ApplicationFailed, "as planned"); err != nil {
		t.Fatal(err)
	}
	a.workers.await(t, 0)
	if app := a.finished(t, c); app.FinalStatus != "FAILED" {
		t.Errorf("YARN says %+v", app)
	}
}

// YARN ends a container that is released before its node has started it, and tells the
// node, which does not know it yet and starts it later: nobody but the driver can
// stop it.
func TestAWorkerThatIsReleasedWhileItStartsIsStopped(t *testing.T) {
	c := suite.Cluster(t)
	a := submit(t, c)
	a.workers.gate = make(chan struct{})
	a.order(t, resourcemanager.Orders{Total: 1})
	var id records.ContainerID
	var host string
	wait.Until(t, "a worker starts", func() bool {
		a.reports.mu.Lock()
		defer a.reports.mu.Unlock()
		for worker, on := range a.reports.starting {
			var err error
			if id, err = records.ParseContainerID(string(worker)); err != nil {
				t.Fatal(err)
			}
			host = on
		}
		return host != ""
	})
	a.order(t, resourcemanager.Orders{Total: 1, Release: []resourcemanager.Release{{Worker: ids.ResourceID(id.String())}}})
	wait.Until(t, "YARN counts no container", func() bool { return a.containers(t, c) == 0 })
	// Both nodes give a container now, and the driver hears of it: all three have heard of
	// the end, too.
	a.order(t, resourcemanager.Orders{Total: 3})
	wait.Until(t, "two more workers start", func() bool {
		starting, _, _, _ := a.reports.read("")
		return starting == 3
	})
	close(a.workers.gate)

	nodes, err := a.client.ClusterNodes(t.Context(), records.NodeRunning)
	if err != nil {
		t.Fatal(err)
	}
	node := nodes[slices.IndexFunc(nodes, func(n records.NodeReport) bool { return n.ID.Host == host })].ID
	wait.Until(t, "the container is stopped", func() bool {
		statuses, err := a.nodes.Statuses(t.Context(), node, id)
		if err != nil && !errors.Is(err, yarnrpc.ErrYarn) { // before it is started
			t.Fatal(err)
		}
		return len(statuses) == 1 && statuses[0].State == records.ContainerComplete && statuses[0].ExitStatus == records.ExitKilledByAppMaster
	})
}

// What no node could ever hold is refused before YARN is asked, with the limits.
func TestWorkersBeyondTheMaximumAreRefused(t *testing.T) {
	a := submit(t, suite.Cluster(t))
	spec := small
	spec.MemoryMB = 1 << 20
	a.driver.Order(t.Context(), resourcemanager.Orders{Spec: spec, Total: 1})
	var refused resourcemanager.WorkersRefused
	wait.Until(t, "the order is refused", func() bool {
		_, _, _, others := a.reports.read("")
		for _, e := range others {
			refused, _ = e.(resourcemanager.WorkersRefused)
		}
		return refused.Reason != ""
	})
	for _, want := range []string{"1048576 MB", "queue root.default", "taskmanager.memory.process.size"} {
		if !strings.Contains(refused.Reason, want) {
			t.Errorf("reason %q does not name %s", refused.Reason, want)
		}
	}
	a.order(t, resourcemanager.Orders{Total: 1})
	a.workers.await(t, 1)
}

// A killed application's driver ends by itself, and its workers are YARN's to
// end.
func TestDriverOfAKilledApplicationEnds(t *testing.T) {
	a := submit(t, suite.Cluster(t))
	a.order(t, resourcemanager.Orders{Total: 2})
	a.workers.await(t, 2)
	if err := a.client.Kill(t.Context(), a.id, "the test wants it"); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the driver has ended", func() bool {
		select {
		case <-a.ended:
			return true
		default:
			return false
		}
	})
	if err := a.stop(); !errors.Is(err, amrm.ErrAttemptGone) {
		t.Errorf("driver ends with %v", err)
	}
	a.workers.await(t, 0)
}

// BenchmarkOrderToRunningProcess tells how long workers take on a cluster with
// room, from the order to the first thing that the last one does.
func BenchmarkOrderToRunningProcess(b *testing.B) {
	c, err := cluster.Start(b.Context(), cluster.Config{MemoryMB: 16 << 10, VCores: 128})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { closing(b, c) })
	for _, n := range []int{1, 10, 50} {
		b.Run(fmt.Sprintf("%d", n), func(b *testing.B) {
			a := submit(b, c)
			total := 0
			for b.Loop() {
				total += n
				a.order(b, resourcemanager.Orders{Total: total})
				a.workers.await(b, n)
				b.StopTimer()
				a.order(b, resourcemanager.Orders{Total: total, Release: a.releases()})
				a.workers.await(b, 0)
				wait.Until(b, "YARN counts no container", func() bool { return a.containers(b, c) == 0 })
				// Just now a NodeManager has reported: without a pause the next
				// order would always wait for a whole heartbeat.
				pause := time.NewTimer(rand.N(time.Second))
				<-pause.C
				b.StartTimer()
			}
		})
	}
}
