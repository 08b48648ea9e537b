package jobs

import (
	"strings"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
)

// TestAFrozenWorkerIsReplaced stops a worker and its host in their tracks, as a
// node that stands still does: the kernel goes on answering for their
// connections. After heartbeat.timeout, and not before (package workers tests that), it is
// replaced. It would catch a job that waits for it, one that counts the loss as
// a fault of its own, and one that tells its owner of a broken connection.
func TestAFrozenWorkerIsReplaced(t *testing.T) {
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
