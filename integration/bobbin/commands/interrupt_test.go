package commands

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// slowJob is a job that runs until a test has done with it: a millisecond for
// each line.
func slowJob(t *testing.T, u *bobbintest.User) []string {
	t.Helper()
	dir := u.Scratch(t)
	u.Write(t, dir+"/lines", strings.Repeat("line\n", 200_000))
	return []string{suite.Program(t, "faulty"), "slow", dir + "/lines", dir + "/out"}
}

// interrupted waits for the end of a command that was sent a signal.
func interrupted(t *testing.T, c *bobbintest.Command) bobbintest.Outcome {
	t.Helper()
	got := c.Wait(t)
	if got.Code != 130 {
		t.Errorf("want exit code 130, got %s", got)
	}
	return got
}

// TestInterruptBeforeTheJobRunsLeavesNothing would catch an application that goes
// on though nobody knows of it, and files that nobody will ever remove.
func TestInterruptBeforeTheJobRunsLeavesNothing(t *testing.T) {
	u := suite.User(t, hasty)
	dir := u.Scratch(t)
	u.Write(t, dir+"/text", "to be\n")
	t.Run("while planning", func(t *testing.T) {
		before := leftOf(t, u)
		faulty := suite.Program(t, "faulty")
		c := u.Start(t, perJob(faulty, "plan-hang", dir+"/text", dir+"/out")...)
		driver := program(t, c.PID())
		c.Signal(t, os.Interrupt)
		if got := interrupted(t, c); got.Stderr != "bobbin: interrupted\n" {
			t.Errorf("want one word, got %s", got)
		}
		wait.Until(t, "the driver has ended", func() bool { return executable(driver) != faulty })
		unchanged(t, u, before)
	})
	t.Run("amid the upload", func(t *testing.T) {
		before := leftOf(t, u)
		large := enlarge(t, suite.Program(t, "faulty"), 512<<20)
		c := u.Start(t, perJob(large, "slow", dir+"/text", dir+"/out")...)
		wait.For(t, "the program is being uploaded", func() (bool, error) {
			for _, entry := range u.Staging(t).Cache {
				if _, file, _ := strings.Cut(entry, "/"); strings.HasPrefix(file, ".") && strings.Contains(c.Seen().Stderr, "uploading ") {
					return true, nil
				}
			}
			return false, nil
		})
		c.Signal(t, syscall.SIGTERM)
		got := interrupted(t, c)
		if !strings.HasSuffix(got.Stderr, "\nbobbin: interrupted\n") {
			t.Errorf("want a cut upload, got %s", got)
		}
		unchanged(t, u, before)
	})
}

// TestInterruptWhileYARNKeepsTheJobWaiting would catch an application that starts
// after its client was told to end, whatever it was to be.
func TestInterruptWhileYARNKeepsTheJobWaiting(t *testing.T) {
	u := suite.User(t, small)
	job := slowJob(t, u)
	// The queue has room for one such master.
	in := func(command, rest []string) []string {
		return slices.Concat(command, []string{"-qu", "small", "-jm", "1024m", "-tm", "320m"}, rest)
	}
	perJob := []string{"run", "-t", "yarn-per-job"}
	first := u.Run(t, in(append(perJob, "-d"), job)...)
	if first.Code != 0 {
		t.Fatal(first)
	}
	for _, c := range []struct {
		name          string
		command, rest []string
	}{
		{"a job with a cluster of its own", perJob, job},
		{"an application", []string{"run-application"}, job},
		{"a session", []string{"session", "start"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := leftOf(t, u)
			waiting := u.Start(t, in(c.command, c.rest)...)
			waiting.Says(t, "is ACCEPTED")
			waiting.Says(t, "waits for its container since ")
			waiting.Signal(t, os.Interrupt)
			got := interrupted(t, waiting)
			application := got.Application(t)
			if !strings.Contains(got.Stderr, "killed "+application+" and removed what was staged for it") {
				t.Errorf("want the clean-up told, got %s", got)
			}
			unchanged(t, u, before)
			if app := u.App(t, application); app.State != "KILLED" {
				t.Errorf("YARN says %s is %s", application, app.State)
			}
		})
	}
	if killed := u.Run(t, "kill", first.Application(t)); killed.Code != 0 || killed.Stdout != first.Application(t)+" is killed\n" {
		t.Errorf("kill: %s", killed)
	}
	u.CheckGone(t, first.Application(t))
}

// TestInterruptOnceTheJobRunsLeavesItAlone would catch a job of hours that ends
// with the terminal it was started from.
func TestInterruptOnceTheJobRunsLeavesItAlone(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"Ctrl-C": syscall.SIGINT, "SIGTERM": syscall.SIGTERM, "SIGHUP": syscall.SIGHUP, "SIGKILL": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := suite.User(t, bobbintest.Alice)
			c := u.Start(t, perJob(slowJob(t, u)...)...)
			c.Says(t, "job is RUNNING")
			application := c.Application(t)
			c.Signal(t, signal)
			if signal == syscall.SIGKILL {
				c.Wait(t)
			} else if got := interrupted(t, c); !strings.Contains(got.Stderr, "detached: "+application+" goes on. Its state: bobbin applications. "+
				"Its logs: bobbin logs "+application+". To end it: bobbin kill "+application+"\n") {
				t.Errorf("want to be told how to follow and how to kill, got %s", got)
			}
			wait.For(t, "its tasks run without their client", func() (bool, error) {
				return len(bobbintest.ProcessesIn(t, application, bobbintest.TaskHost)) == 1, nil
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

// TestACommandThatIsToldToTakesItsJobAlong would catch -sae that leaves a cluster behind, when
// its command is interrupted and when nobody could tell it to.
func TestACommandThatIsToldToTakesItsJobAlong(t *testing.T) {
	for name, signal := range map[string]syscall.Signal{"Ctrl-C": syscall.SIGINT, "SIGKILL": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := suite.User(t, bobbintest.Alice)
			flags := []string{"-sae"}
			if signal == syscall.SIGKILL { // else a client that is slow would be given up before it is told to end
				flags = append(flags, "-D", "client.heartbeat.interval=1s", "-D", "client.heartbeat.timeout=5s")
			}
			c := u.Start(t, perJob(append(flags, slowJob(t, u)...)...)...)
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

// TestJobThatIsTooWideIsToldSo would catch minutes of silence, in which people
// look for what hangs.
func TestJobThatIsTooWideIsToldSo(t *testing.T) {
	t.Parallel()
	u := suite.User(t, bobbintest.Alice)
	dir := u.Scratch(t)
	u.Write(t, dir+"/text", "to be\n")
	c := u.Start(t, perJob("-p", "100", "-tm", "1g", "-o", "json", suite.Program(t, "wordcount"), "--input", dir+"/text", "--output", dir+"/out")...)
	c.Says(t, "job waits for slots since ")
	c.Says(t, " of 100 are there")
	application := c.Application(t)
	c.Signal(t, os.Interrupt)
	interrupted(t, c)
	if got := u.Run(t, "kill", application); got.Code != 0 {
		t.Error(got)
	}
	u.CheckGone(t, application)
}

// TestSecondInterruptEndsAtOnce would catch a command that cannot be ended while
// it cleans up, and a driver that outlives it.
func TestSecondInterruptEndsAtOnce(t *testing.T) {
	t.Parallel()
	u := suite.User(t, bobbintest.Alice)
	dir := u.Scratch(t)
	u.Write(t, dir+"/text", "to be\n")
	faulty := suite.Program(t, "faulty")
	c := u.Start(t, perJob(faulty, "plan-hang", dir+"/text", dir+"/out")...)
	driver := program(t, c.PID())
	if err := syscall.Kill(driver, syscall.SIGSTOP); err != nil { // so that one Ctrl-C takes its time
		t.Fatal(err)
	}
	wait.For(t, "Ctrl-C, pressed again and again, ends it", func() (bool, error) {
		c.Signal(t, os.Interrupt)
		return !c.Running(), nil
	})
	if got := interrupted(t, c); !strings.Contains(got.Stderr, "bobbin kill ends it") {
		t.Errorf("want to be told what may be left, got %s", got)
	}
	wait.Until(t, "the driver has ended", func() bool { return executable(driver) != faulty })
}

// TestInterruptOfALocalRunEndsIt would catch output that looks committed, and a
// program that goes on when bobbin has gone.
func TestInterruptOfALocalRunEndsIt(t *testing.T) {
	t.Parallel()
	u := suite.User(t, bobbintest.Alice)
	job := slowJob(t, u)
	c := u.Start(t, append([]string{"run", "-t", "local"}, job...)...)
	started := program(t, c.PID())
	wait.For(t, "it reads its input", func() (bool, error) { return connected(t, started), nil })
	c.Signal(t, syscall.SIGTERM)
	if got := interrupted(t, c); got.Stderr != "interrupted\n" && !strings.HasSuffix(got.Stderr, "\ninterrupted\n") {
		t.Errorf("got %s", got)
	}
	if err := syscall.Kill(started, 0); err == nil {
		t.Error("the program goes on")
	}
	for _, name := range u.Names(t, job[3]) {
		if name != "_temporary" {
			t.Errorf("%s lies in the output", name)
		}
	}
}

// TestClientThatSleepsWhileItsJobEndsTellsTheTruth would catch a job that is done
// and told as failed, as after the lid of a laptop was shut.
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
