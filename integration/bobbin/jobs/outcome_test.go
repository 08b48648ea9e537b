package jobs

import (
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// maxDiagnostics bounds the diagnostics that YARN gets, in bytes.
const maxDiagnostics = 8 << 10

// TestUserCodeFails would catch a job that restarts for ever, an end that YARN or the user does not
// learn of, and a root cause that is hidden among its consequences. It would also catch an ApplicationMaster
// that ends because user code beside it takes all memory.
func TestUserCodeFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		mode string
		uber string   // yarn.application.uber
		says []string // on stderr and in YARN's diagnostics
	}{
		{"task-rant", "never", []string{"panic: a task rants: why? why?", "… (cut) …", "its 3 restarts are used up", "main.misbehave", "programs/faulty/main.go:"}},
		{"task-recurse", "never", []string{"ended unexpectedly: exit status 2: fatal error: stack overflow", "its 3 restarts are used up", "main.recurse"}},
		{"task-exit", "auto", []string{"ended unexpectedly: exit status 7\nits last output:\nlast words of the task\n", "its 3 restarts are used up"}},
		{"task-hungry", "auto", []string{"container was about to exceed its memory: the host held", "raise taskmanager.memory.process.size", "its 3 restarts are used up"}},
	} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			alice := suite.User(t, bobbintest.Alice)
			dir := alice.Scratch(t)
			alice.Write(t, dir+"/input", "one line\nanother\n")
			got := alice.Run(t, bobbintest.Small("-p", "2", "-s", "2", "-tm", "512m", "-o", "json", "-D", "yarn.application.uber="+c.uber,
				suite.Program(t, "faulty"), c.mode, dir+"/input", dir+"/output")...)
			if got.Code != 1 {
				t.Error(got)
			}
			report := got.JSON(t)
			if report.JobStatus != "FAILED" || report.FinalStatus != "FAILED" || report.State != "FINISHED" {
				t.Errorf("the report says %+v", report)
			}
			app := alice.App(t, report.Application)
			if app.State != "FINISHED" || app.FinalStatus != "FAILED" {
				t.Errorf("YARN says %s (%s)", app.State, app.FinalStatus)
			}
			if n := len(app.Diagnostics); n > maxDiagnostics {
				t.Errorf("YARN's diagnostics have %d bytes", n)
			}
			for _, want := range c.says {
				if !strings.Contains(got.Stderr, want) {
					t.Errorf("stderr does not say %q:\n%s", want, got.Stderr)
				}
				if !strings.Contains(app.Diagnostics, want) {
					t.Errorf("YARN's diagnostics do not say %q:\n%s", want, app.Diagnostics)
				}
			}
			if strings.Contains(app.Diagnostics, "level=") {
				t.Errorf("YARN's diagnostics hold lines of our own log:\n%s", app.Diagnostics)
			}
			if names := alice.Names(t, dir+"/output"); len(names) != 0 {
				t.Errorf("the failed job leaves %v in its output", names)
			}
			alice.CheckGone(t, report.Application)
		})
	}
}

// TestJobIsCancelled would catch a cancellation that YARN takes for a failure or a success, a page
// that YARN's web proxy does not show, and a page that it must not show: only the owner may change
// something or see results.
func TestJobIsCancelled(t *testing.T) {
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	d := suite.Dawdle(t, alice, "-p", "2", "-s", "2", "-tm", "512m")
	var seen bobbintest.JobDetails
	if err := alice.View(t.Context(), d.Application, "/jobs/"+d.Job, &seen); err != nil || seen.State != msg.JobRunning {
		t.Errorf("the proxy shows the job as %+v: %v", seen, err)
	}
	if err := alice.View(t.Context(), d.Application, "/jobs/"+d.Job+"/result", nil); err == nil {
		t.Error("the proxy shows the job's result to everybody")
	}
	if err := d.Master.Patch(t.Context(), "/jobs/"+d.Job); err != nil {
		t.Fatal(err)
	}
	d.CheckFails(t, "FINISHED", "KILLED", "CANCELED")
}
