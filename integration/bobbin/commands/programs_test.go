package commands

import (
	"bytes"
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
)

// TestBadProgramsAreRefused would catch a program that is uploaded, or run, though
// its file tells that the cluster cannot run it.
func TestBadProgramsAreRefused(t *testing.T) {
	u := suite.User(t, careless)
	dir := t.TempDir()
	write := func(name string, mode os.FileMode, content []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, err := os.ReadFile(suite.Program(t, "wordcount"))
	if err != nil {
		t.Fatal(err)
	}
	const mark = "<bobbin sdk protocol version="
	if bytes.Count(good, []byte(mark+"1>")) != 1 {
		t.Fatal("the program does not carry the mark of protocol version 1")
	}
	foreign := filepath.Join(dir, "foreign")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", foreign, "github.com/bobbin-yarn/bobbin/integration/internal/programs/faulty")
	build.Env = append(os.Environ(), "GOARCH=arm64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build for another platform: %v\n%s", err, out)
	}
	for name, c := range map[string]struct {
		program string
		says    []string
	}{
		"one that is not there":    {dir + "/nothing", []string{dir + "/nothing", "no such file"}},
		"one named without a path": {"wordcount", []string{"program wordcount", "name its file with the path"}},
		"a directory":              {dir, []string{dir + " is a directory", "name the program's executable file"}},
		"a file that is no program": {
			write("data", 0o644, []byte("x")), []string{"data is not executable", "go build, or chmod +x"},
		},
		"a script": {
			write("script", 0o755, []byte("#!/bin/sh\n")), []string{"script: built for another platform", "GOOS=linux go build"},
		},
		"a program without the SDK": {
			suite.Program(t, "gentext"), []string{"gentext: not built with the Bobbin SDK", "its main must call bobbin.Main"},
		},
		"a program for another platform": {
			foreign, []string{"foreign: built for another platform: arm64", "GOARCH=amd64"},
		},
		"a program of another protocol version": {
			write("newer", 0o755, bytes.Replace(good, []byte(mark+"1>"), []byte(mark+"2>"), 1)),
			[]string{"newer: built with another protocol version", "the program has 2, this bobbin has 1", "build both from the same release"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, u, c.says, perJob(c.program, "--input", "/", "--output", "/out")...)
		})
	}
}

// TestBadPlansAreRefused would catch a program whose fault the cluster finds, and
// errors of people's own code in words that are not theirs.
func TestBadPlansAreRefused(t *testing.T) {
	u := suite.User(t, careless)
	dir := u.Scratch(t)
	u.Write(t, dir+"/text", "to be\n")
	faulty := suite.Program(t, "faulty")
	for name, c := range map[string]struct {
		mode string
		says []string
	}{
		"a plan that differs each time": {"two-plans", []string{"job faulty", "a different plan each time", "no clock, no randomness, no map order"}},
		"a plan that is refused":        {"plan-error", []string{"plan job faulty: the plan is refused"}},
		"a driver that executes nothing": {
			"no-execute", []string{"faulty", "no job was executed", "must call env.Execute"},
		},
		"a driver that fails": {"driver-error", []string{"the driver does not feel like it"}},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, u, c.says, perJob(faulty, c.mode, dir+"/text", dir+"/out")...)
		})
	}
	t.Run("a panic", func(t *testing.T) {
		before := leftOf(t, u)
		got := u.Run(t, perJob(faulty, "plan-panic", dir+"/text", dir+"/out")...)
		lines := strings.Split(strings.TrimSpace(got.Stderr), "\n")
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

// TestSecondJobIsRefused would catch a program whose first job is lost with its
// second, and a refusal that only says that the program failed.
func TestSecondJobIsRefused(t *testing.T) {
	t.Parallel()
	alice := suite.User(t, bobbintest.Alice)
	dir := alice.Scratch(t)
	alice.Write(t, dir+"/text", "to be\n")
	got := alice.Run(t, perJob("-o", "json", suite.Program(t, "faulty"), "twice", dir+"/text", dir+"/out")...)
	report := got.JSON(t)
	const refusal = "job faulty is the second of this program, and -t yarn-per-job runs one: execute one job, or use -t yarn-session or -t local"
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

// TestArgumentsBehindTheProgramAreItsOwn would catch flags of the program that
// bobbin takes, in a real run.
func TestArgumentsBehindTheProgramAreItsOwn(t *testing.T) {
	u := suite.User(t, careless)
	got := u.Run(t, "run", "-t", "local", suite.Program(t, "faulty"), "-t", "--help", "-Dx=y", "-o")
	if got.Code != 1 || got.Stderr != "faulty: want a mode, an input and an output, got 4 arguments\n" {
		t.Errorf("the program did not get its four arguments: %s", got)
	}
}

// enlarge gives a program that takes long to upload: what is behind an executable
// does not matter to the kernel.
func enlarge(t *testing.T, program string, size int) string {
	t.Helper()
	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	padding := make([]byte, size)
	if _, err := rand.Read(padding); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "large")
	if err := os.WriteFile(path, append(content, padding...), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestProgramMayHaveAnyName would catch a name that means something to the shell
// by which YARN starts a container, or to a URI.
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
	if err := os.WriteFile(program, content, 0o755); err != nil {
		t.Fatal(err)
	}
	got := u.Run(t, perJob(program, "--input", dir+"/text", "--output", dir+"/out")...)
	if got.Code != 0 {
		t.Error(got)
	}
	u.CheckGone(t, got.Application(t))
}
