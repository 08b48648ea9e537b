package jobs

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// TestTaskHostIsKilled would catch a worker that dies with the user's process, a
// container that is given back for it, and records that the tasks before the
// restart have left in the result.
func TestTaskHostIsKilled(t *testing.T) {
	alice := suite.User(t, bobbintest.Alice)
	d := dawdle(t, alice, "-p", "2", "-s", "1")
	executors := d.processes(t, bobbintest.TaskExecutor)
	hosts := d.processes(t, bobbintest.TaskHost)
	if len(executors) != 2 || len(hosts) != 2 {
		t.Fatalf("want 2 workers with a task host each, got %v and %v", executors, hosts)
	}
	victim := first(hosts)
	victim.Kill(t)
	d.awaitRestart(t)

	if diff := cmp.Diff(executors, d.processes(t, bobbintest.TaskExecutor)); diff != "" {
		t.Errorf("the workers are not the same (-before +after):\n%s", diff)
	}
	after := d.processes(t, bobbintest.TaskHost)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(hosts)), slices.Sorted(maps.Keys(after))); diff != "" {
		t.Errorf("task hosts are not in the same containers (-before +after):\n%s", diff)
	}
	if after[victim.Container].PID == victim.PID {
		t.Errorf("the task host that was killed is still there: %v", victim)
	}
	if cause := d.rootCause(t); !strings.Contains(cause, "signal: killed") {
		t.Errorf("the root cause does not tell of the signal: %q", cause)
	}
	d.checkSucceeds(t)
}

// TestTaskExecutorIsKilled would catch task hosts that outlive their worker and
// go on writing, a job that waits for a worker that is gone, and one that counts
// the loss as a fault of its own: it may not restart for those at all.
func TestTaskExecutorIsKilled(t *testing.T) {
	alice := suite.User(t, bobbintest.Alice)
	d := dawdle(t, alice, "-p", "2", "-s", "1", "-D", "restart-strategy.type=none")
	executors := d.processes(t, bobbintest.TaskExecutor)
	hosts := d.processes(t, bobbintest.TaskHost)
	victim := first(executors)
	victim.Kill(t)
	bobbintest.Eventually(t, "the hosts of the killed worker die with it", func() (bool, error) {
		host, alive := d.processes(t, bobbintest.TaskHost)[victim.Container]
		return !alive || host.PID != hosts[victim.Container].PID, nil
	})
	d.awaitRestart(t)

	after := d.processes(t, bobbintest.TaskExecutor)
	if _, same := after[victim.Container]; same || len(after) != 2 {
		t.Errorf("want a new container in place of %s, got workers %v", victim.Container, after)
	}
	for container, before := range executors {
		if container != victim.Container && after[container] != before {
			t.Errorf("the other worker was %v and is %v", before, after[container])
		}
	}
	d.checkSucceeds(t)
}

// TestApplicationMasterIsKilled would catch a client that waits for a master that
// is gone, workers that outlive it, and staged files that nobody removes. With
// one attempt that is the end of the application.
func TestApplicationMasterIsKilled(t *testing.T) {
	alice := suite.User(t, bobbintest.Alice)
	d := dawdle(t, alice, "-p", "2", "-s", "2", "-tm", "512m")
	first(d.processes(t, bobbintest.ApplicationMaster)).Kill(t)
	d.checkFails(t, "FAILED", "FAILED", "exitCode: 137")
}

// TestApplicationIsKilled would catch processes that survive their container's
// end, a client that takes the end of an application for the end of its job, and
// staged files that stay behind.
func TestApplicationIsKilled(t *testing.T) {
	for _, c := range []struct {
		name string
		kill func(t *testing.T, u *bobbintest.User, application string)
	}{
		{"by bobbin kill", func(t *testing.T, u *bobbintest.User, application string) {
			if got := u.Run(t, "kill", application); got.Code != 0 || !strings.Contains(got.Stdout, application) {
				t.Error(got)
			}
		}},
		{"by yarn application -kill", func(t *testing.T, u *bobbintest.User, application string) {
			cmd := u.Cluster.Command(t.Context(), cluster.ApplicationCLI, "application", "-kill", application)
			cmd.Env = append(cmd.Env, "HADOOP_USER_NAME="+u.Name)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			alice := suite.User(t, bobbintest.Alice)
			d := dawdle(t, alice, "-p", "2", "-s", "1")
			c.kill(t, alice, d.application)
			d.checkFails(t, "KILLED", "KILLED", d.application+" is KILLED")
		})
	}
}

// first is the process in the first container.
func first(processes map[string]bobbintest.Process) bobbintest.Process {
	return processes[slices.Min(slices.Collect(maps.Keys(processes)))]
}
