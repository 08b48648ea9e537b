package jobs

import (
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// TestASmallJobHasOneContainer kills the processes of a job in one container, one after the other. It would catch a second
// container; a worker in place of a killed one that does not come, or comes elsewhere; task hosts that outlive their
// worker, and a worker that outlives its master; a next attempt without room for a worker; and logs that nobody finds.
func TestASmallJobHasOneContainer(t *testing.T) {
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	d := suite.Dawdle(t, alice, "-p", "2", "-s", "2", "-tm", "512m", "-D", "yarn.application.uber=auto",
		"-D", "yarn.application-attempts=2", "-D", "restart-strategy.fixed-delay.attempts=1") // the worker's end uses up none
	master, worker, host := d.First(t, bobbintest.ApplicationMaster), d.First(t, bobbintest.TaskExecutor), d.First(t, bobbintest.TaskHost)
	if worker.Parent != master.PID || host.Parent != worker.PID || len(d.Processes(t, bobbintest.TaskHost)) != 1 {
		t.Fatalf("%v, %v and %v are not in one container", master, worker, host)
	}
	if used := alice.Report(t, d.Application).Usage; used.UsedContainers != 1 || used.Used.MemoryMB < 768 {
		t.Errorf("YARN counts %d containers of %v, want one of 768 MB or more", used.UsedContainers, used.Used)
	}
	var rest struct{ TaskManagers []struct{ ID string } }
	if err := d.Master.Get(t.Context(), "/taskmanagers", &rest); err != nil || len(rest.TaskManagers) != 1 || rest.TaskManagers[0].ID != master.Container+"-uber-1" {
		t.Errorf("REST lists the workers %v, error %v", rest.TaskManagers, err)
	}

	host.Kill(t)
	d.AwaitRestart(t)
	if now := d.First(t, bobbintest.TaskExecutor); now != worker {
		t.Errorf("the task host was killed, and the worker %v is now %v", worker, now)
	}
	if cause := d.RootCause(t); !strings.Contains(cause, "signal: killed") {
		t.Errorf("the root cause does not tell of the signal: %q", cause)
	}

	host = d.First(t, bobbintest.TaskHost)
	worker.Kill(t)
	d.AwaitRestart(t)
	next := d.First(t, bobbintest.TaskExecutor)
	if next.PID == worker.PID || next.Parent != master.PID || next.Container != master.Container {
		t.Errorf("worker %v of %v is replaced by %v", worker, master, next)
	}
	if hosts := d.Processes(t, bobbintest.TaskHost); len(hosts) != 1 || hosts[host.Container].PID == host.PID {
		t.Errorf("task host %v goes on after its worker: %v", host, hosts)
	}

	master.Kill(t)
	d.AwaitSuccessor(t)
	wait.Until(t, "no worker of the first attempt lives", func() bool {
		return len(d.Processes(t, bobbintest.TaskExecutor)) == 1
	})
	after := d.First(t, bobbintest.TaskExecutor)
	if after.Container == master.Container || after.Parent != d.First(t, bobbintest.ApplicationMaster).PID {
		t.Errorf("the next attempt has the worker %v", after)
	}
	found := make(map[string]bool)
	for file := range alice.Logs(t, d.Application) {
		if file.Container == after.Container {
			found[file.Name] = true
		}
	}
	for _, want := range []string{"jobmanager.log", "taskmanager.log", "taskmanager.stderr"} {
		if !found[want] {
			t.Errorf("bobbin logs has %v of %s, and not %s", found, after.Container, want)
		}
	}
	d.CheckSucceeds(t)
}
