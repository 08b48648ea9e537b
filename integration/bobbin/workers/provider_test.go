package workers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// app returns YARN's own report of the application.
func (a *application) app(t testing.TB, c *cluster.Cluster) cluster.RMApp {
	t.Helper()
	return wait.Answer(t, "the state of the application", func() (cluster.RMApp, error) { return c.RM().App(t.Context(), a.id.String()) })
}

// holds waits until YARN counts this number of containers of the application. REST gives -1 if there are none.
func (a *application) holds(t testing.TB, c *cluster.Cluster, n int) {
	t.Helper()
	wait.Until(t, fmt.Sprintf("YARN counts %d containers", n), func() bool { return max(a.app(t, c).RunningContainers, 0) == n })
}

// finished returns YARN's report of the application after its end, which is a moment after it has unregistered.
func (a *application) finished(t testing.TB, c *cluster.Cluster) (app cluster.RMApp) {
	t.Helper()
	wait.Until(t, "the application has ended", func() bool {
		app = a.app(t, c)
		return app.State == "FINISHED"
	})
	return app
}

// TestWorkersComeAndGo would catch a provider that YARN does not understand. One worker comes, then more, while the
// order is lower for a moment. One dies, and the provider notices. All are released, and the application ends with its
// status. testdata/excess_containers.txt of package yarnworkers tests the release of excess containers; here YARN keeps
// the last order.
func TestWorkersComeAndGo(t *testing.T) {
	t.Parallel()
	c := suite.Cluster(t)
	a := submit(t, c)
	a.provider.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(small, 1)})
	a.workers.await(t, 1)
	for _, wanted := range []int{total, 2, total} {
		a.provider.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(small, wanted)})
	}
	a.workers.await(t, total)
	a.holds(t, c, total)

	a.killOne(t)

	a.provider.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(small, total), Release: a.releases()})
	a.workers.await(t, 0)
	a.holds(t, c, 0)
	if starting, completed, _, others := a.reports.read(""); starting != total || completed != 1 || len(others) != 0 {
		t.Errorf("%d workers reported starting, %d completed, and %+v", starting, completed, others)
	}

	if err := a.provider.Deregister(t.Context(), msg.ApplicationSucceeded, "all is well"); err != nil {
		t.Fatal(err)
	}
	if app := a.finished(t, c); app.FinalStatus != "SUCCEEDED" || !strings.Contains(app.Diagnostics, "all is well") {
		t.Errorf("YARN says %+v", app)
	}
	if err := a.stop(); !errors.Is(err, errStopped) {
		t.Errorf("provider ends with %v", err)
	}
}

// total is the number of workers that TestWorkersComeAndGo has in all.
const total = 6

// killOne kills a worker's process, and makes the provider check the silent worker, like the ResourceManager does when
// a connection is lost.
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
	a.provider.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(small, total), Check: []ids.ResourceID{victim}})
	wait.Until(t, "the killed worker is reported", func() bool {
		_, _, cause, _ := a.reports.read(victim)
		return cause != ""
	})
	if _, _, cause, _ := a.reports.read(victim); !strings.Contains(cause, "(exit status 137)") {
		t.Errorf("a killed worker is reported as %q", cause)
	}
}

// TestAWorkerThatIsReleasedWhileItStartsIsStopped would catch a worker that runs although nobody counts it. YARN ends a
// container that is released before its node has started it, and tells the node. The node does not know the container
// yet, and starts it later. Only the provider can stop it.
func TestAWorkerThatIsReleasedWhileItStartsIsStopped(t *testing.T) {
	t.Parallel()
	c := suite.Cluster(t)
	a := submit(t, c)
	a.workers.gate = make(chan struct{})
	a.provider.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(small, 1)})
	var id ids.ResourceID
	wait.Until(t, "a worker starts", func() bool {
		a.reports.mu.Lock()
		defer a.reports.mu.Unlock()
		for worker := range a.reports.starting {
			id = worker
		}
		return id != ""
	})
	a.provider.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(small, 1), Release: []resourcemanager.Release{{Worker: id}}})
	a.holds(t, c, 0)
	// Both nodes have granted a container, and the provider knows it. All three have also learned of the end.
	a.provider.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(small, 3)})
	wait.Until(t, "two more workers start", func() bool {
		starting, _, _, _ := a.reports.read("")
		return starting == 3
	})
	close(a.workers.gate)

	// A node forgets the container soon after that, except for its record of the calls that it accepts.
	wait.For(t, "the container is stopped", func() (bool, error) {
		for _, daemon := range c.Daemons() {
			if !strings.HasPrefix(daemon, "nodemanager") {
				continue
			}
			log, err := os.ReadFile(filepath.Join(c.LogDir(), daemon+".log"))
			if err != nil {
				return false, err
			}
			for line := range strings.Lines(string(log)) {
				if strings.Contains(line, "OPERATION=Stop Container Request") && strings.Contains(line, "RESULT=SUCCESS") && strings.Contains(line, "CONTAINERID="+string(id)) {
					return true, nil
				}
			}
		}
		return false, nil
	})
}

// TestWorkersBeyondTheMaximumAreRefused would catch a wait for workers that no node could ever hold, and a refusal
// without YARN's limits and the queue that has them.
func TestWorkersBeyondTheMaximumAreRefused(t *testing.T) {
	t.Parallel()
	a := submit(t, suite.Cluster(t))
	spec := small
	spec.MemoryMB, spec.Memory.By = 1<<20, config.TaskManagerProcessSize
	a.provider.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(spec, 1)})
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
	a.provider.Order(t.Context(), resourcemanager.Orders{Workers: workersOf(small, 1)})
	a.workers.await(t, 1)
}
