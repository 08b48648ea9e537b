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

// stopped stops processes in their tracks, as a node that stands still does, and gives what lets them go on. Their kernel goes
// on answering for their connections.
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

// container are our processes in a container: YARN's shell around them is left alone.
func container(t *testing.T, application, id string) (found []bobbintest.Process) {
	t.Helper()
	for _, p := range bobbintest.Processes(t, application) {
		if p.Container == id && p.Role != bobbintest.Other {
			found = append(found, p)
		}
	}
	return found
}

// after lets that much time pass from when it is called.
func after(t *testing.T, d time.Duration) {
	t.Helper()
	begin := time.Now()
	wait.Until(t, fmt.Sprintf("%s have passed", d), func() bool { return time.Since(begin) >= d })
}

// unmoved checks that a job goes on as it was before its processes were stopped: nothing was restarted, and nobody was replaced.
func unmoved(t *testing.T, d *bobbintest.Dawdler, before []bobbintest.Process) {
	t.Helper()
	if diff := cmp.Diff(before, bobbintest.Processes(t, d.Application)); diff != "" {
		t.Errorf("the processes are not the same (-before +after):\n%s", diff)
	}
	if at := d.Details(t).Timestamps[msg.JobRestarting]; at > 0 {
		t.Errorf("the job was restarted: %s", d.RootCause(t))
	}
}

// TestASilentWorkerIsBorneWith would catch a worker that is lost before heartbeat.timeout is over: pings of the connection have
// given it up after 9 s, whatever the option said. All of its processes are stopped for 15 s, and then the one that has the
// connections to the master, beside a host that is alive.
func TestASilentWorkerIsBorneWith(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]string{
		"by default":            nil,
		"for as long as wished": {"-D", "heartbeat.interval=1s", "-D", "heartbeat.timeout=300s"}, // 2 s are the machine's
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
				after(t, 3*time.Second) // in which a loss would be told and acted upon
				unmoved(t, d, before)
			}
			d.CheckSucceeds(t)
		})
	}
}

// TestASilentMasterIsBorneWith would catch workers that leave a master which is stopped for 20 s, and a master that judges them
// when it wakes up by how long it has not listened.
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

// TestASilentHostIsReplaced would catch a job that waits for ever for a task host whose process is stopped, beside a worker that
// is well.
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
