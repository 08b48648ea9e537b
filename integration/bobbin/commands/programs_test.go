package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/runnable"
)

// TestBadPlansAreRefused would catch an error in a program that only the cluster finds, and an
// error about user code that does not use its names.
func TestBadPlansAreRefused(t *testing.T) {
	t.Parallel()
	u := suite.Newcomer(t)
	dir := u.Scratch(t)
	u.Write(t, dir+"/text", "to be\n")
	faulty := suite.Program(t, "faulty")
	mode := func(mode string) []string { return bobbintest.Small(faulty, mode, dir+"/text", dir+"/out") }
	before := leftOf(t, u)
	refuseAll(t, u, []refusal{
		{"a plan that differs each time", mode("two-plans"), []string{"job faulty", "a different plan each time", "no clock, no random numbers, no order of a map"}},
		{"a plan that is refused", mode("plan-error"), []string{"plan job faulty: the plan is refused"}},
		{"a driver that executes nothing", mode("no-execute"), []string{"faulty", "no job was executed", "must call env.Execute"}},
		{"a driver that fails", mode("driver-error"), []string{"the driver does not feel like it"}},
	})
	t.Run("a panic", func(t *testing.T) {
		got := u.Run(t, mode("plan-panic")...)
		lines := withoutWaits(got.Stderr)
		if got.Code != 1 || lines[0] != "bobbin: panic while planning job faulty: the plan is cursed" {
			t.Errorf("want the panic first, got %s", got)
		}
		if len(lines) != 3 || lines[1] != "main.plan" || !strings.Contains(lines[2], "programs/faulty/main.go:") {
			t.Errorf("want the user's frames and no others behind it, got %s", got)
		}
		unchanged(t, u, before)
	})
	t.Run("a panic by hand", func(t *testing.T) {
		got := u.StartProgram(t, faulty, "plan-panic", dir+"/text", dir+"/out").Wait(t)
		if got.Code != 1 || !strings.HasPrefix(got.Stderr, "faulty: panic while planning job faulty: the plan is cursed\nmain.plan\n") {
			t.Errorf("want the panic and then the frames, got %s", got)
		}
	})
}

// TestSecondJobIsRefused would catch a program whose first job is lost with the second one, and a
// refusal without a reason.
func TestSecondJobIsRefused(t *testing.T) {
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	dir := alice.Scratch(t)
	alice.Write(t, dir+"/text", "to be\n")
	got := alice.Run(t, bobbintest.Small("-o", "json", suite.Program(t, "faulty"), "twice", dir+"/text", dir+"/out")...)
	report := got.JSON(t)
	const refusal = "job faulty is the second job of this program, but -t yarn-per-job runs only one: execute one job, or use -t yarn-session or -t local"
	if got.Code != 1 || countLines(got.Stderr, refusal) != 1 || report.Error != refusal || report.JobStatus != "FINISHED" {
		t.Errorf("want the first job finished and the second refused, got %s", got)
	}
	if out := alice.Output(t, dir+"/out"); len(out) != 1 || out[0] != "t\t1" {
		t.Errorf("the first job wrote %q", out)
	}
	local := alice.Run(t, "run", "-t", "local", suite.Program(t, "faulty"), "twice", dir+"/text", dir+"/local")
	if local.Code != 0 || len(alice.Output(t, dir+"/local-again")) != 1 {
		t.Errorf("both jobs run in local mode; got %s", local)
	}
}

// TestProgramMayHaveAnyName would catch a name with special characters of the shell that starts
// containers, or of URIs.
func TestProgramMayHaveAnyName(t *testing.T) {
	t.Parallel()
	u := suite.User(t, bobbintest.Alice)
	dir := u.Scratch(t)
	u.Write(t, dir+"/text", "to be\n")
	content, err := os.ReadFile(suite.Program(t, "wordcount"))
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "50% é \\n'q\"$HOME`id`#1?")
	if err := runnable.Write(program, content); err != nil {
		t.Fatal(err)
	}
	got := u.Run(t, bobbintest.Small(program, "--input", dir+"/text", "--output", dir+"/out")...)
	if got.Code != 0 {
		t.Error(got)
	}
	u.CheckGone(t, got.Application(t))
}
