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
		p.Signal(t, syscall.SIGSTOP)
	}
	d.AwaitRestart(t)
	if cause := d.RootCause(t); !strings.Contains(cause, "worker "+victim.Container) || !strings.Contains(cause, "is lost") {
		t.Errorf("the root cause is %q, want the lost worker %s", cause, victim.Container)
	}
	d.CheckSucceeds(t)
}

// TestAFrozenTaskIsOvertaken stops the task host of one worker with SIGSTOP, but not the worker, which goes on with its heartbeats.
// Another attempt of the task must end the job on another node, though nothing counts as lost and nothing may restart. The test would
// catch a job that waits for the slow task, records that both attempts have written, and a frozen process that stays.
func TestAFrozenTaskIsOvertaken(t *testing.T) {
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	d := suite.Dawdle(t, alice, "-p", "2", "-s", "1", "-D", "restart-strategy.type=none", "-D", "heartbeat.timeout=1h", "-D", "execution.batch.speculative.enabled=true",
		"-D", "slow-task-detector.execution-time.baseline-lower-bound=2s", "-D", "slow-task-detector.execution-time.baseline-ratio=0.5")
	d.First(t, bobbintest.TaskHost).Signal(t, syscall.SIGSTOP)
	d.CheckSucceeds(t)
	got := alice.Run(t, "logs", "--file", "jobmanager.log", d.Application)
	for _, want := range []string{"task is slow, and gets another attempt", "another attempt of a slow task runs", "one attempt of a slow task has finished first"} {
		if !strings.Contains(got.Stdout, want) {
			t.Errorf("jobmanager.log does not say %q:\n%s", want, got.Stdout)
		}
	}
	bobbintest.WaitNoProcesses(t, d.Application)
}
