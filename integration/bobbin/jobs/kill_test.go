package jobs

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// TestTaskHostIsKilled would catch a worker that dies with the user's process, a container that is
// released because of it, and records in the result from the tasks before the restart.
func TestTaskHostIsKilled(t *testing.T) {
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	d := suite.Dawdle(t, alice, "-p", "2", "-s", "1")
	executors := d.Processes(t, bobbintest.TaskExecutor)
	hosts := d.Processes(t, bobbintest.TaskHost)
	if len(executors) != 2 || len(hosts) != 2 {
		t.Fatalf("want 2 workers with a task host each, got %v and %v", executors, hosts)
	}
	victim := d.First(t, bobbintest.TaskHost)
	victim.Kill(t)
	d.AwaitRestart(t)

	if diff := cmp.Diff(executors, d.Processes(t, bobbintest.TaskExecutor)); diff != "" {
		t.Errorf("the workers are not the same (-before +after):\n%s", diff)
	}
	after := d.Processes(t, bobbintest.TaskHost)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(hosts)), slices.Sorted(maps.Keys(after))); diff != "" {
		t.Errorf("task hosts are not in the same containers (-before +after):\n%s", diff)
	}
	if after[victim.Container].PID == victim.PID {
		t.Errorf("the task host that was killed is still there: %v", victim)
	}
	if cause := d.RootCause(t); !strings.Contains(cause, "signal: killed") {
		t.Errorf("the root cause does not tell of the signal: %q", cause)
	}
	d.CheckSucceeds(t)
}

// TestTaskExecutorIsKilled would catch task hosts that outlive their worker and continue to write,
// a job that waits for the lost worker, and one that counts the loss as its own failure. The job
// has no restarts for its own failures.
func TestTaskExecutorIsKilled(t *testing.T) {
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	d := suite.Dawdle(t, alice, "-p", "2", "-s", "1", "-D", "restart-strategy.type=none")
	executors := d.Processes(t, bobbintest.TaskExecutor)
	hosts := d.Processes(t, bobbintest.TaskHost)
	victim := d.First(t, bobbintest.TaskExecutor)
	victim.Kill(t)
	wait.Until(t, "the hosts of the killed worker die with it", func() bool {
		host, alive := d.Processes(t, bobbintest.TaskHost)[victim.Container]
		return !alive || host.PID != hosts[victim.Container].PID
	})
	d.AwaitRestart(t)

	after := d.Processes(t, bobbintest.TaskExecutor)
	if _, same := after[victim.Container]; same || len(after) != 2 {
		t.Errorf("want a new container in place of %s, got workers %v", victim.Container, after)
	}
	for container, before := range executors {
		if container != victim.Container && after[container] != before {
			t.Errorf("the other worker was %v and is %v", before, after[container])
		}
	}
	d.CheckSucceeds(t)
}

// TestApplicationMasterIsKilled would catch a client that waits for a killed master, workers that
// outlive it, and staged files that remain. With one attempt, this is the end of the application.
func TestApplicationMasterIsKilled(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	d := suite.Dawdle(t, alice, "-p", "2", "-s", "2", "-tm", "512m", "-D", "yarn.application-attempts=1")
	d.First(t, bobbintest.ApplicationMaster).Kill(t)
	d.CheckFails(t, "FAILED", "FAILED", "exitCode: 137")
}

// TestApplicationMasterIsReplaced would catch a second attempt that begins another job, workers and
// task hosts that do not outlive the first one, and a client that does not follow to the second one,
// or does not say so.
func TestApplicationMasterIsReplaced(t *testing.T) {
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	d := suite.Dawdle(t, alice, "-p", "2", "-s", "1")
	executors, hosts := d.Processes(t, bobbintest.TaskExecutor), d.Processes(t, bobbintest.TaskHost)
	d.First(t, bobbintest.ApplicationMaster).Kill(t)
	d.AwaitSuccessor(t)
	if diff := cmp.Diff(executors, d.Processes(t, bobbintest.TaskExecutor)); diff != "" {
		t.Errorf("the workers are not the same (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(hosts, d.Processes(t, bobbintest.TaskHost)); diff != "" {
		t.Errorf("the task hosts are not the same (-before +after):\n%s", diff)
	}
	d.Run.Says(t, "the ApplicationMaster of "+d.Application+" has been replaced: attempt 2 goes on with the job\n")
	d.CheckSucceeds(t)
}

// TestApplicationIsKilled would catch processes that survive their container's end, a client that
// takes the end of an application for the end of its job, and staged files that remain.
func TestApplicationIsKilled(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	d := suite.Dawdle(t, alice, "-p", "2", "-s", "1")
	if got := alice.Run(t, "kill", d.Application); got.Code != 0 || !strings.Contains(got.Stdout, d.Application) {
		t.Error(got)
	}
	d.CheckFails(t, "KILLED", "KILLED", d.Application+" is KILLED")
}
