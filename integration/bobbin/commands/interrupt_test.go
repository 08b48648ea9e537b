package commands

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// interrupted waits for the end of a command that got a signal.
func interrupted(t *testing.T, c *bobbintest.Command) bobbintest.Outcome {
	t.Helper()
	got := c.Wait(t)
	if got.Code != 130 {
		t.Errorf("want exit code 130, got %s", got)
	}
	return got
}

// TestInterruptWhilePlanningLeavesNothing would catch a program that continues after bobbin's end, and a lost signal.
// internal/staging tests interrupted uploads.
func TestInterruptWhilePlanningLeavesNothing(t *testing.T) {
	t.Parallel()
	u := suite.Newcomer(t)
	dir := u.Scratch(t)
	u.Write(t, dir+"/text", "to be\n")
	before := leftOf(t, u)
	t.Run("by", func(t *testing.T) {
		for name, signal := range map[string]syscall.Signal{"Ctrl-C": syscall.SIGINT, "SIGTERM": syscall.SIGTERM, "SIGHUP": syscall.SIGHUP} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := u.Start(t, bobbintest.Small(suite.Program(t, "faulty"), "plan-hang", dir+"/text", dir+"/out")...)
				driver := program(t, c.PID())
				c.Signal(t, signal)
				if got := interrupted(t, c); !slices.Equal(withoutWaits(got.Stderr), []string{"bobbin: interrupted"}) {
					t.Errorf("want one word, got %s", got)
				}
				ended(t, driver)
			})
		}
	})
	unchanged(t, u, before)
}

// TestAFullQueueIsToldAndInterrupted would catch a client that is silent for minutes, and an application that starts
// although its client was told to end.
func TestAFullQueueIsToldAndInterrupted(t *testing.T) {
	t.Parallel()
	u := suite.User(t, clusters.Small)
	dir := u.Scratch(t)
	u.Write(t, dir+"/text", "to be\n")
	job := []string{suite.Program(t, "wordcount"), "--input", dir + "/text", "--output", dir + "/out"}
	// The queue has room for one such master and a few workers. All exchanges of the wide job are pipelined: it could run in
	// waves otherwise, and would end.
	in := func(command ...string) []string {
		return append(command, "-qu", "small", "-jm", "1024m", "-tm", "320m")
	}
	wide := u.Start(t, append(in("run", "-t", "yarn-per-job", "-p", "100", "-D", "execution.batch-shuffle-mode=ALL_EXCHANGES_PIPELINED"), job...)...)
	wide.Says(t, "job waits for slots since ")
	wide.Says(t, ": it needs 100 slots and has ")
	wide.Says(t, "YARN's queue root.small is full: it has ")
	first := wide.Application(t)
	master := u.Master(t, first)
	if why := master.Waiting(t, msg.QueueFull); why.Remedy == "" {
		t.Errorf("no remedy for %+v", why)
	}
	checkStart(t, master, first)

	before := leftOf(t, u)
	t.Run("waits", func(t *testing.T) {
		for name, command := range map[string][]string{
			"a job with a cluster of its own": append(in("run", "-t", "yarn-per-job"), job...),
			"an application":                  append(in("run-application"), job...),
			"a session":                       in("session", "start"),
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				waiting := u.Start(t, command...)
				waiting.Says(t, "is ACCEPTED")
				waiting.Says(t, "waits for its container since ")
				waiting.Signal(t, os.Interrupt)
				got := interrupted(t, waiting)
				application := got.Application(t)
				if !strings.Contains(got.Stderr, "killed "+application+" and removed its staged files") {
					t.Errorf("want the clean-up told, got %s", got)
				}
				if app := u.App(t, application); app.State != "KILLED" {
					t.Errorf("YARN says %s is %s", application, app.State)
				}
			})
		}
	})
	unchanged(t, u, before)

	wide.Signal(t, os.Interrupt)
	interrupted(t, wide)
	if killed := u.Run(t, "kill", first); killed.Code != 0 || killed.Stdout != first+" is killed\n" {
		t.Errorf("kill: %s", killed)
	}
	u.CheckGone(t, first)
}

// checkStart waits until the job has slots, and checks where the time of a start went that the master of an application tells.
func checkStart(t *testing.T, master *bobbintest.Master, application string) {
	t.Helper()
	master.Start(t, "/start",
		"command", "upload", "submission", "queue", "container of the master", "process of the master", "leadership", "takes over",
		"queue of the workers", "container of worker 1", "worker 1", "job accepted", "containers asked for", "first worker", "first task host", "slots for the first tasks")
	var about restapi.Application
	if err := master.Get(t.Context(), "/application", &about); err != nil {
		t.Fatal(err)
	}
	if about.ID != application || about.Queue == "" || about.Attempt != 1 || about.Submitted <= 0 || about.Started < about.Submitted || about.TrackingURL == "" || about.LogURL == "" {
		t.Errorf("the application is %+v", about)
	}
	t.Logf("%+v", about)
}

// TestInterruptOnceTheJobRunsLeavesItAlone would catch a long job that ends with its terminal.
func TestInterruptOnceTheJobRunsLeavesItAlone(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"Ctrl-C": syscall.SIGINT, "SIGKILL": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := suite.User(t, bobbintest.Alice)
			c := u.Start(t, bobbintest.Small(suite.SlowJob(t, u).Args...)...)
			c.Says(t, "job is RUNNING")
			application := c.Application(t)
			c.Signal(t, signal)
			if signal == syscall.SIGKILL {
				c.Wait(t)
			} else if got := interrupted(t, c); !strings.Contains(got.Stderr, "detached: "+application+" goes on. Its state: bobbin applications. "+
				"Its logs: bobbin logs "+application+". To end it: bobbin kill "+application+"\n") {
				t.Errorf("want to be told how to follow and how to kill, got %s", got)
			}
			wait.Until(t, "its tasks run without their client", func() bool {
				return len(bobbintest.ProcessesIn(t, application, bobbintest.TaskHost)) == 1
			})
			if app := u.App(t, application); app.State != "RUNNING" {
				t.Errorf("YARN says %s", app.State)
			}
			if got := u.Run(t, "kill", application); got.Code != 0 {
				t.Error(got)
			}
			u.CheckGone(t, application)
		})
	}
}

// TestACommandThatIsToldToTakesItsJobAlong would catch a command with -sae that leaves a cluster behind when it is
// interrupted or killed.
func TestACommandThatIsToldToTakesItsJobAlong(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"Ctrl-C": syscall.SIGINT, "SIGKILL": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := suite.User(t, bobbintest.Alice)
			flags := []string{"-sae"}
			if signal == syscall.SIGKILL { // otherwise a slow client would be given up before the signal
				flags = append(flags, "-D", "client.heartbeat.interval=1s", "-D", "client.heartbeat.timeout=20s")
			}
			c := u.Start(t, bobbintest.Small(append(flags, suite.SlowJob(t, u).Args...)...)...)
			c.Says(t, "job is RUNNING")
			application := c.Application(t)
			c.Signal(t, signal)
			if signal == syscall.SIGKILL {
				c.Wait(t)
			} else if got := interrupted(t, c); !strings.Contains(got.Stderr, "cancelled "+application+"\n") {
				t.Errorf("want to be told what became of the job, got %s", got)
			}
			if app := u.WaitEnded(t, application); app.FinalStatus != "KILLED" {
				t.Errorf("YARN says %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
			}
			u.CheckGone(t, application)
		})
	}
}

// TestSecondInterruptEndsAtOnce would catch a command that cannot be ended during its clean-up, and a driver that
// outlives it.
func TestSecondInterruptEndsAtOnce(t *testing.T) {
	t.Parallel()
	u := suite.User(t, bobbintest.Alice)
	dir := u.Scratch(t)
	u.Write(t, dir+"/text", "to be\n")
	c := u.Start(t, bobbintest.Small(suite.Program(t, "faulty"), "plan-hang", dir+"/text", dir+"/out")...)
	driver := program(t, c.PID())
	if err := syscall.Kill(driver, syscall.SIGSTOP); err != nil { // so that the clean-up after the first Ctrl-C takes some time
		t.Fatal(err)
	}
	wait.Until(t, "Ctrl-C, pressed again and again, ends it", func() bool {
		c.Signal(t, os.Interrupt)
		return !c.Running()
	})
	if got := interrupted(t, c); !strings.Contains(got.Stderr, "bobbin kill ends it") {
		t.Errorf("want to be told what may be left, got %s", got)
	}
	ended(t, driver)
}

// TestInterruptOfALocalRunEndsIt would catch output that looks committed, and a program that continues after bobbin's
// end.
func TestInterruptOfALocalRunEndsIt(t *testing.T) {
	t.Parallel()
	u := suite.User(t, bobbintest.Alice)
	job := suite.SlowJob(t, u)
	c := u.Start(t, append([]string{"run", "-t", "local"}, job.Args...)...)
	started := program(t, c.PID())
	c.Says(t, "task 1 of ")
	c.Signal(t, syscall.SIGTERM)
	if got := interrupted(t, c); !slices.Contains(strings.Split(got.Stderr, "\n"), "interrupted") {
		t.Errorf("got %s", got)
	}
	ended(t, started)
	for _, name := range u.Names(t, job.Output) {
		if name != "_temporary" {
			t.Errorf("%s lies in the output", name)
		}
	}
}

// TestClientThatSleepsWhileItsJobEndsTellsTheTruth would catch a client that reports a finished job as failed after it
// slept, as after the suspend of a laptop.
func TestClientThatSleepsWhileItsJobEndsTellsTheTruth(t *testing.T) {
	t.Parallel()
	d := suite.Dawdle(t, suite.User(t, bobbintest.Alice), "-o", "json")
	d.Run.Says(t, "job is RUNNING")
	d.Run.Signal(t, syscall.SIGSTOP)
	d.Release(t)
	d.User.WaitEnded(t, d.Application)
	d.Run.Signal(t, syscall.SIGCONT)
	d.CheckSucceeds(t)
	if report := d.Run.Seen().JSON(t); report.JobStatus != "FINISHED" || report.FinalStatus != "SUCCEEDED" {
		t.Errorf("want the job done, got %+v", report)
	}
}
