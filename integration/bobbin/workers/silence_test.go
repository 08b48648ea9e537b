package workers

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// stopped stops processes with SIGSTOP, like a node that hangs, and returns a function that resumes them. The kernel
// still answers for their connections.
func stopped(t *testing.T, processes ...bobbintest.Process) (resume func()) {
	t.Helper()
	for _, p := range processes {
		p.Signal(t, syscall.SIGSTOP)
	}
	return func() {
		for _, p := range processes {
			p.Signal(t, syscall.SIGCONT)
		}
	}
}

// container returns our processes in a container, without YARN's shell around them.
func container(t *testing.T, application, id string) (found []bobbintest.Process) {
	t.Helper()
	for _, p := range bobbintest.Processes(t, application) {
		if p.Container == id && p.Role != bobbintest.Other {
			found = append(found, p)
		}
	}
	return found
}

// after returns a function that waits until this time has passed since the call of after.
func after(t *testing.T, d time.Duration) {
	t.Helper()
	begin := time.Now()
	wait.Until(t, fmt.Sprintf("%s have passed", d), func() bool { return time.Since(begin) >= d })
}

// unmoved checks that a job runs as before its processes were stopped: nothing restarted, and no process was replaced.
func unmoved(t *testing.T, d *bobbintest.Dawdler, before []bobbintest.Process) {
	t.Helper()
	if diff := cmp.Diff(before, bobbintest.Processes(t, d.Application)); diff != "" {
		t.Errorf("the processes are not the same (-before +after):\n%s", diff)
	}
	if at := d.Details(t).Timestamps[msg.JobRestarting]; at > 0 {
		t.Errorf("the job was restarted: %s", d.RootCause(t))
	}
}

// TestASilentWorkerIsBorneWith would catch a worker that is lost before heartbeat.timeout is over. Pings of the
// connection once gave it up after 9 s, whatever the option said. The test stops all processes of the worker for 15 s,
// and then only the one with the connections to the master, while a host is alive.
func TestASilentWorkerIsBorneWith(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]string{
		"by default":            nil,
		"for as long as wished": {"-D", "heartbeat.interval=1s", "-D", "heartbeat.timeout=300s"}, // 2 s are for the machine
	} {
		t.Run(name, func(t *testing.T) {
			if options != nil {
				cluster.Long(t)
			}
			t.Parallel()
			d := suite.Dawdle(t, suite.User(t, bobbintest.Alice), append([]string{"-p", "2", "-s", "1", "-D", "restart-strategy.type=none"}, options...)...)
			before := bobbintest.Processes(t, d.Application)
			victim := d.First(t, bobbintest.TaskExecutor)
			for _, frozen := range [][]bobbintest.Process{container(t, d.Application, victim.Container), {victim}} {
				resume := stopped(t, frozen...)
				after(t, 15*time.Second)
				resume()
				after(t, 3*time.Second) // in this time a loss would be reported and cause a reaction
				unmoved(t, d, before)
			}
			d.CheckSucceeds(t)
		})
	}
}

// TestASilentMasterIsBorneWith would catch workers that leave a master that is stopped for 20 s. It would also catch a
// master that, when it resumes, declares them dead because of the time in which it did not listen.
func TestASilentMasterIsBorneWith(t *testing.T) {
	t.Parallel()
	d := suite.Dawdle(t, suite.User(t, bobbintest.Alice), "-p", "2", "-s", "1", "-D", "restart-strategy.type=none")
	before := bobbintest.Processes(t, d.Application)
	resume := stopped(t, d.First(t, bobbintest.ApplicationMaster))
	after(t, 20*time.Second)
	resume()
	after(t, 3*time.Second)
	unmoved(t, d, before)
	d.CheckSucceeds(t)
}

// TestASilentHostIsReplaced would catch a job that waits for ever for a task host whose process is stopped, beside a
// worker that is alive.
func TestASilentHostIsReplaced(t *testing.T) {
	t.Parallel()
	d := suite.Dawdle(t, suite.User(t, bobbintest.Alice), "-p", "2", "-s", "1", "-D", "heartbeat.interval=1s", "-D", "heartbeat.timeout=5s")
	executors := d.Processes(t, bobbintest.TaskExecutor)
	stopped(t, d.First(t, bobbintest.TaskHost))
	d.AwaitRestart(t)
	if diff := cmp.Diff(executors, d.Processes(t, bobbintest.TaskExecutor)); diff != "" {
		t.Errorf("the workers are not the same (-before +after):\n%s", diff)
	}
	if cause := d.RootCause(t); !strings.Contains(cause, "heartbeat.timeout") {
		t.Errorf("the root cause is %q, want the host's silence", cause)
	}
	d.CheckSucceeds(t)
}
