package sessions

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/client/sessionfile"
	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// person returns a user whose sessions are recorded in a file of its own, and the file's path.
func person(t *testing.T) (u *bobbintest.User, path string) {
	t.Helper()
	who, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	return suite.User(t, bobbintest.Alice).With("TMPDIR=" + dir), sessionfile.Path(dir, who.Username)
}

// owner is person for a user of another suite.
func owner(t *testing.T, suite *bobbintest.Suite) *bobbintest.User {
	t.Helper()
	return suite.User(t, bobbintest.Alice).With("TMPDIR=" + t.TempDir())
}

// start starts a session of small containers, as StartSession does.
func start(t *testing.T, u *bobbintest.User, args ...string) string {
	t.Helper()
	return u.StartSession(t, append([]string{"-jm", "256m", "-tm", "512m", "-s", "2"}, args...)...)
}

// run runs a program to its end, and returns the output of -o json.
func run(t *testing.T, u *bobbintest.User, args ...string) bobbintest.Report {
	t.Helper()
	got := u.Run(t, append([]string{"run", "-o", "json"}, args...)...)
	if got.Code != 0 {
		t.Fatal(got)
	}
	return got.JSON(t)
}

// job is a line of `bobbin list -o json`.
type job struct {
	Job       string `json:"job"`
	Name      string `json:"name"`
	JobStatus string `json:"jobStatus"`
}

// jobs returns the jobs that `bobbin list` prints.
func jobs(t *testing.T, u *bobbintest.User, args ...string) []job {
	t.Helper()
	return listedIn(t, u.Run(t, append([]string{"list", "-o", "json"}, args...)...))
}

func listedIn(t *testing.T, got bobbintest.Outcome) []job {
	t.Helper()
	var told struct{ Jobs []job }
	if err := json.Unmarshal([]byte(got.Stdout), &told); err != nil || got.Code != 0 {
		t.Fatalf("%v: %s", err, got)
	}
	return told.Jobs
}

// uploads reports whether a command uploaded a file with this name.
func uploads(r bobbintest.Report, name string) bool {
	return slices.ContainsFunc(r.Steps, func(s bobbintest.Step) bool { return s.Name == "uploaded "+name })
}

// TestASessionRunsJobsUntilItIsStopped would catch a session that ends with a job, one that mixes up the jobs of
// several programs, a program that is uploaded for each of its jobs, a command that finds another session than the one
// started last, an address that is not looked up among YARN's applications, and anything that a session leaves behind.
func TestASessionRunsJobsUntilItIsStopped(t *testing.T) {
	t.Parallel()
	u, path := person(t)
	id := start(t, u, "-nm", "session test", "-D", "parallelism.default=2")
	app := u.App(t, id)
	if app.State != "RUNNING" || app.Name != "session test" {
		t.Errorf("YARN says %s is %q, %s", id, app.Name, app.State)
	}
	written, err := sessionfile.Read(path)
	if err != nil || written.Application.String() != id || written.Options["parallelism.default"] != "2" {
		t.Fatalf("written down: %+v, %v", written, err)
	}
	address := u.Master(t, id).Access.Address
	dir := u.Scratch(t)
	texts := []string{suite.Generate(t, "-size", "300k", "-files", "2", "-seed", "1"), suite.Generate(t, "-size", "300k", "-files", "2", "-seed", "2")}
	for i, text := range texts {
		input, output := dir+"/text"+string(rune('0'+i)), dir+"/counts"+string(rune('0'+i))
		u.Put(t, text, input)
		var which []string
		if i > 0 {
			which = []string{"-m", address}
		}
		report := run(t, u, append(which, suite.Program(t, "wordcount"), "--input", input, "--output", output)...)
		if diff := cmp.Diff(bobbintest.CountWords(t, text), u.Output(t, output)); diff != "" {
			t.Errorf("counts of text %d differ (-want +got):\n%.2000s", i, diff)
		}
		if report.Application != id || report.JobStatus != "FINISHED" {
			t.Errorf("the job of text %d: %+v", i, report)
		}
		if i > 0 && uploads(report, "wordcount") {
			t.Errorf("the program is uploaded again: %v", report.Steps)
		}
	}
	u.Write(t, dir+"/lines", "to be\nor not\nto do\n")
	got := u.Run(t, "run", "-t", "yarn-session", "-id", id, suite.Program(t, "several"), dir+"/lines", dir+"/sifted", "to", "be")
	if want := "2 lines hold to\n1 lines hold be\n"; got.Code != 0 || got.Stdout != want {
		t.Errorf("several jobs of one program, want %q: %s", want, got)
	}
	if diff := cmp.Diff([]string{"to be"}, u.Output(t, dir+"/sifted-2")); diff != "" {
		t.Errorf("the second job's output (-want +got):\n%s", diff)
	}
	listed := jobs(t, u, "-a", "-id", id)
	for _, j := range listed {
		if j.JobStatus != "FINISHED" {
			t.Errorf("%+v", j)
		}
	}
	if len(listed) != 4 {
		t.Errorf("listed are %+v", listed)
	}
	if diff := cmp.Diff(listed, jobs(t, u, "-a", "-m", address)); diff != "" {
		t.Errorf("with its address the list differs (-id +m):\n%s", diff)
	}
	if app := u.App(t, id); app.State != "RUNNING" {
		t.Errorf("after its jobs it is %s", app.State)
	}

	if got := u.Run(t, "session", "stop"); got.Code != 0 || !strings.Contains(got.Stderr, id+" is FINISHED (SUCCEEDED)") {
		t.Error(got)
	}
	if app := u.App(t, id); app.State != "FINISHED" || app.FinalStatus != "SUCCEEDED" {
		t.Errorf("YARN says %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
	}
	u.CheckGone(t, id)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its properties file still exists: %v", err)
	}
}

// TestJobsOfASessionAreCancelled would catch a cancellation that ends the session or another job, and a detached job
// that no command finds. It would catch a job that remains after its command with -sae was interrupted or killed, and a
// job that ends with its command without -sae. It would catch output of a cancelled job, slots that the next job does
// not get, and a job that waits for them without saying so.
func TestJobsOfASessionAreCancelled(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	u, _ := person(t)
	id := start(t, u, "-D", "slotmanager.number-of-slots.max=2", "-D", "slotmanager.number-of-slots.min=2")
	wait.Until(t, "the floor of workers is there before the first job", func() bool {
		return strings.Contains(u.Run(t, "status", "-id", id).Stdout, " TaskExecutors without work (slotmanager.number-of-slots.min: 2)\n") &&
			strings.Contains(u.Run(t, "status", "-id", id).Stdout, "\nslots          2, 2 of them free\n")
	})
	t.Run("detached", func(t *testing.T) {
		got := u.Run(t, append([]string{"run", "-d"}, suite.SlowJob(t, u).Args...)...)
		if got.Code != 0 || !strings.Contains(got.Stderr, "bobbin cancel -id "+id) {
			t.Fatal(got)
		}
		running := onlyJob(t, u, id)
		if got := u.Run(t, "cancel", running.Job); got.Code != 0 {
			t.Error(got)
		}
		becomes(t, u, running.Job, "CANCELED")
	})
	for _, c := range []struct {
		name   string
		flags  []string
		signal os.Signal
		code   int
		want   string // the job's state at that time
	}{
		{"Ctrl-C", nil, os.Interrupt, 130, "RUNNING"},
		{"Ctrl-C with -sae", []string{"-sae"}, os.Interrupt, 130, "CANCELED"},
		{"kill -9 with -sae", []string{"-sae", "-D", "client.heartbeat.interval=500ms", "-D", "client.heartbeat.timeout=20s"}, os.Kill, -1, "CANCELED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			command := u.Start(t, append(append([]string{"run"}, c.flags...), suite.SlowJob(t, u).Args...)...)
			command.Says(t, "job is RUNNING")
			mine := onlyJob(t, u, id)
			command.Signal(t, c.signal)
			if got := command.Wait(t); got.Code != c.code {
				t.Errorf("want exit code %d: %s", c.code, got)
			}
			becomes(t, u, mine.Job, c.want)
			if c.want == "RUNNING" {
				if got := u.Run(t, "cancel", mine.Job); got.Code != 0 {
					t.Error(got)
				}
				becomes(t, u, mine.Job, "CANCELED")
			}
		})
	}
	t.Run("one whose slots another job waits for", func(t *testing.T) {
		holds, waits := suite.SlowJob(t, u), suite.SlowJob(t, u)
		waits.Release(t)
		writes := slices.Insert(slices.Clone(holds.Args), 1, "-repeat", "2")
		if got := u.Run(t, append([]string{"run", "-d", "-p", "2"}, writes...)...); got.Code != 0 {
			t.Fatal(got)
		}
		holder := onlyJob(t, u, id)
		wait.Until(t, "the job that holds the slots writes", func() bool { return len(u.Names(t, holds.Output)) > 0 })
		command := u.Start(t, append([]string{"run", "-p", "2"}, waits.Args...)...)
		command.Says(t, "it needs 2 slots and has 0; other jobs hold 2")
		if got := u.Run(t, "cancel", holder.Job); got.Code != 0 {
			t.Error(got)
		}
		if got := command.Wait(t); got.Code != 0 {
			t.Error(got)
		}
		if diff := cmp.Diff(waits.Want, u.Output(t, waits.Output)); diff != "" {
			t.Errorf("output (-want +got):\n%s", diff)
		}
		becomes(t, u, holder.Job, "CANCELED")
		if left := u.Names(t, holds.Output); len(left) > 0 {
			t.Errorf("the cancelled job's output still has %v", left)
		}
	})
	checkRuns(t, u, id)
}

// becomes waits until a job of the session is in a state.
func becomes(t *testing.T, u *bobbintest.User, id, state string) {
	t.Helper()
	wait.Until(t, "job "+id+" is "+state, func() bool {
		listed := jobs(t, u, "-a")
		i := slices.IndexFunc(listed, func(j job) bool { return j.Job == id })
		return i >= 0 && listed[i].JobStatus == state
	})
}
