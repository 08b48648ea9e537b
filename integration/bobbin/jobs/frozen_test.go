package jobs

import (
	"strings"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
)

// TestAFrozenWorkerIsReplaced stops a worker and its host with SIGSTOP, like a node that hangs: the
// kernel still answers for their connections. The job must replace the worker after
// heartbeat.timeout, and not earlier (package workers tests that). The test would catch a job that
// waits for the worker, one that counts the loss as its own failure, and one that reports only a
// broken connection.
func TestAFrozenWorkerIsReplaced(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	d := suite.Dawdle(t, alice, "-p", "2", "-s", "1", "-D", "restart-strategy.type=none", "-D", "heartbeat.interval=1s", "-D", "heartbeat.timeout=5s")
	victim := d.First(t, bobbintest.TaskExecutor)
	for _, p := range bobbintest.Processes(t, d.Application) {
		if p.Container != victim.Container || p.Role == bobbintest.Other { // YARN's shell around it
			continue
		}
		if err := syscall.Kill(p.PID, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	}
	d.AwaitRestart(t)
	if cause := d.RootCause(t); !strings.Contains(cause, "worker "+victim.Container) || !strings.Contains(cause, "is lost") {
		t.Errorf("the root cause is %q, want the lost worker %s", cause, victim.Container)
	}
	d.CheckSucceeds(t)
}
