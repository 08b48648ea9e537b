package sessions

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// TestASessionOutlivesItsJobsCrashes runs a job beside others that fail in every way, some of them
// in the same workers. It would catch one user's panic, exit or memory use that ends the jobs of
// others or the session, a failure without its cause, and a worker that is not replaced.
func TestASessionOutlivesItsJobsCrashes(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	u, _ := person(t)
	id := start(t, u, "-D", "restart-strategy.fixed-delay.attempts=10") // for the good job
	dir := u.Scratch(t)
	u.Write(t, dir+"/one", "to be\n")
	slow := suite.SlowJob(t, u)
	good := u.Start(t, append([]string{"run", "-p", "2"}, slow.Args...)...)
	good.Says(t, "job is RUNNING")

	faulty := suite.Program(t, "faulty")
	for mode, want := range map[string]string{
		"task-panic":  "a task has had enough",
		"task-exit":   "last words of the task",
		"task-hungry": "taskmanager.memory.process.size",
		"plan-panic":  "the plan is cursed",
	} {
		got := u.Run(t, "run", "-D", "restart-strategy.type=none", faulty, mode, dir+"/one", dir+"/"+mode)
		if got.Code != 1 || !strings.Contains(got.Stderr, want) {
			t.Errorf("%s: want exit code 1 and %q: %s", mode, want, got)
		}
	}
	var hosts []bobbintest.Process
	wait.Until(t, "the good job runs", func() bool { // the failed jobs may have just restarted it
		hosts = bobbintest.ProcessesIn(t, id, bobbintest.TaskHost)
		return len(hosts) > 0
	})
	for _, worker := range bobbintest.ProcessesIn(t, id, bobbintest.TaskExecutor) {
		if worker.Container == hosts[0].Container {
			worker.Kill(t)
		}
	}
	slow.Release(t)
	checkOutlived(t, u, id, good, slow)
}

// TestAJobMayUseAllOfItsMemory runs jobs whose tasks fill the heap, the tables, the buffers and the off-heap memory of
// both slots of a worker, on a cluster whose NodeManagers enforce the size of containers. It would catch a budget that
// the container does not have, and a job beyond its budget that does not learn which option to raise.
func TestAJobMayUseAllOfItsMemory(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	u := suite.Plain().User(t, bobbintest.Alice)
	dir, in := u.Scratch(t), u.Scratch(t)
	u.Write(t, in+"/a", "a\n")
	u.Write(t, in+"/b", "b\n")
	faulty := suite.Plain().Program(t, "faulty")
	// A slot has 315 MB: 86 MB heap, 132 MB managed, 33 MB network, and 64 MB off-heap. A table of the count has 44 MB,
	// because three tasks share the managed memory; 38,000 keys take 40 MB. The heap has the rest of the limit.
	const keys = 38_000
	for _, want := range []struct {
		mode string
		code int
		says []string
	}{
		{fmt.Sprintf("task-full:195:62:%d", keys), 0, nil},
		{fmt.Sprintf("task-full:195:200:%d", keys), 1, []string{
			"about to exceed its memory", "its share is 664 MB", "task off-heap", "raise taskmanager.memory.process.size (the container has 800 MB)",
		}},
	} {
		output := fmt.Sprintf("%s/%d", dir, want.code)
		got := u.Run(t, "run", "-t", "yarn-per-job", "-tm", "800m", "-s", "2", "-p", "2", "-D", "taskmanager.memory.task.off-heap.size=128m",
			"-D", "restart-strategy.type=none", faulty, want.mode, in, output)
		if got.Code != want.code {
			t.Errorf("%s: want exit code %d: %s", want.mode, want.code, got)
		}
		for _, text := range want.says {
			if !strings.Contains(got.Stderr, text) {
				t.Errorf("%s: %q is not in: %s", want.mode, text, got)
			}
		}
		if want.code != 0 {
			continue
		}
		if lines := len(u.Output(t, output)); lines != 2*keys {
			t.Errorf("%s: the output has %d lines, want %d", want.mode, lines, 2*keys)
		}
	}
}

// checkOutlived checks that a job finishes with exact output, and that its session continues.
func checkOutlived(t *testing.T, u *bobbintest.User, session string, job *bobbintest.Command, slow *bobbintest.SlowJob) {
	t.Helper()
	if got := job.Wait(t); got.Code != 0 {
		t.Error(got)
	}
	if diff := cmp.Diff(slow.Want, u.Output(t, slow.Output)); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	checkRuns(t, u, session)
}

func checkRuns(t *testing.T, u *bobbintest.User, session string) {
	t.Helper()
	if app := u.App(t, session); app.State != "RUNNING" {
		t.Errorf("the session is %s: %s", app.State, app.Diagnostics)
	}
}

// TestASessionOutlivesAMachine would catch a job with tasks on a lost node that waits until YARN
// notices, and workers that are requested on that node.
func TestASessionOutlivesAMachine(t *testing.T) {
	cluster.Long(t)
	c := clusters.Own(t, cluster.Config{NodeManagers: 3})
	u := suite.UserOf(t, c, bobbintest.Alice).With("TMPDIR=" + t.TempDir())
	id := start(t, u)
	slow := suite.SlowJob(t, u)
	job := u.Start(t, append([]string{"run", "-p", "4"}, slow.Args...)...)
	host := func(p bobbintest.Process) string { return p.Variable(t, "NM_HOST") }
	master := host(bobbintest.ProcessesIn(t, id, bobbintest.ApplicationMaster)[0])
	var lost string // the node
	wait.Until(t, "tasks run on another node than the master", func() bool {
		for _, p := range bobbintest.ProcessesIn(t, id, bobbintest.TaskHost) {
			if at := host(p); at != "" && at != master {
				lost = at
			}
		}
		return lost != ""
	})
	if err := c.Kill(t.Context(), fmt.Sprintf("nodemanager%d", 1+slices.Index(c.NodeManagers(), lost))); err != nil {
		t.Fatal(err)
	}
	for _, p := range bobbintest.Processes(t, id) {
		if host(p) == lost {
			_ = syscall.Kill(p.PID, syscall.SIGKILL) // some end with others
		}
	}
	slow.Release(t)
	checkOutlived(t, u, id, job, slow)
}

// TestASessionsNextMasterHasNoJobs would catch a client that waits for ever for a job that was lost
// with its master, one that gets no reason, and a session that accepts no jobs any more.
func TestASessionsNextMasterHasNoJobs(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	u, _ := person(t)
	id := start(t, u, "-D", "yarn.application-attempts=2", "-D", "high-availability.type=NONE")
	client := u.Start(t, append([]string{"run"}, suite.SlowJob(t, u).Args...)...)
	client.Says(t, "job is RUNNING")
	bobbintest.ProcessesIn(t, id, bobbintest.ApplicationMaster)[0].Kill(t)
	const want = "was lost with the previous one: run it again"
	if got := client.Wait(t); got.Code != 1 || !strings.Contains(got.Stderr, want) {
		t.Errorf("want exit code 1 and %q: %s", want, got)
	}
	if listed := jobs(t, u, "-a", "-id", id); len(listed) > 0 {
		t.Errorf("the next master has %+v", listed)
	}
	dir := u.Scratch(t)
	u.Write(t, dir+"/lines", "to be\nor not\n")
	report := run(t, u, suite.Program(t, "several"), dir+"/lines", dir+"/sifted", "to")
	if report.Application != id || report.JobStatus != "FINISHED" {
		t.Errorf("a job of the next master: %+v", report)
	}
	checkRuns(t, u, id)
}

// TestASessionEndsWithItsOnlyMaster would catch a client that does not learn that the session has
// ended, and the remedy.
func TestASessionEndsWithItsOnlyMaster(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	u, path := person(t)
	id := start(t, u, "-D", "yarn.application-attempts=1")
	client := u.Start(t, append([]string{"run"}, suite.SlowJob(t, u).Args...)...)
	client.Says(t, "job is RUNNING")
	bobbintest.ProcessesIn(t, id, bobbintest.ApplicationMaster)[0].Kill(t)
	if got := client.Wait(t); got.Code != 1 || !strings.Contains(got.Stderr, id+" is FAILED (FAILED)") {
		t.Errorf("who follows a job: %s", got)
	}
	if got := u.Run(t, "list"); got.Code != 1 || !strings.Contains(got.Stderr, path+" still names it") {
		t.Errorf("who lists jobs: %s", got)
	}
	bobbintest.WaitNoProcesses(t, id)
}
