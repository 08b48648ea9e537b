package commands

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// TestCommandsNameApplicationsThatAreNotThere would catch Java's error text, and empty logs for an
// unknown application.
func TestCommandsNameApplicationsThatAreNotThere(t *testing.T) {
	t.Parallel()
	u := suite.User(t, clusters.Bob)
	const unknown = "application_1_0001"
	refused(t, u, []string{unknown + " is not known to YARN, and HDFS has no logs of it for user " + u.Name}, "logs", unknown)
	refused(t, u, []string{unknown + " is not known to YARN: bobbin applications --all lists"}, "kill", unknown)
}

// TestCommandsFollowAnApplication would catch a command that does not see an application that run
// has started: detached, running, killed, ended.
func TestCommandsFollowAnApplication(t *testing.T) {
	t.Parallel()
	u := suite.User(t, bobbintest.Alice)
	started := u.Run(t, append(bobbintest.Small("-d", "-o", "json", "-nm", "followed"), suite.SlowJob(t, u).Args...)...)
	if started.Code != 0 {
		t.Fatal(started)
	}
	report := started.JSON(t)
	application := report.Application
	if report.State != "RUNNING" || report.TrackingURL == "" || report.JobStatus != "" || strings.Count(started.Stdout, "\n") != 1 {
		t.Errorf("a detached run ends with %s", started.Stdout)
	}
	if !strings.Contains(started.Stderr, application+" runs. Its state: bobbin applications. Its logs: bobbin logs "+application) {
		t.Errorf("a detached run does not say how to follow it: %s", started)
	}
	// A slow client may look for the first time when the application runs.
	if n := countLines(started.Stderr, application+" is ACCEPTED"); n > 1 {
		t.Errorf("state ACCEPTED is printed %d times: %s", n, started)
	}
	if n := countLines(started.Stderr, application+" is RUNNING"); n != 1 {
		t.Errorf("state RUNNING is printed %d times: %s", n, started)
	}
	if state := listed(t, u, application); state != "RUNNING" {
		t.Errorf("it is listed as %q", state)
	}
	if got := u.Run(t, "applications"); countLines(got.Stdout, application) != 1 || !strings.HasPrefix(got.Stdout, "APPLICATION ") {
		t.Errorf("applications: %s", got)
	}
	got := u.Run(t, "logs", "--file", "jobmanager.log", application)
	if got.Code != 0 || !strings.HasPrefix(got.Stdout, "==== jobmanager.log of container_") || !strings.Contains(got.Stdout, "\ntime=") {
		t.Errorf("live logs: %s", got)
	}
	if got = u.Run(t, "kill", application); got.Code != 0 || got.Stdout != application+" is killed\n" || got.Stderr != "" {
		t.Errorf("kill: %s", got)
	}
	u.CheckGone(t, application)
	// The files that a killed master could not remove.
	if err := u.Files(t).MkdirAll(t.Context(), "/user/"+u.Name+"/.bobbin/"+application+"/left"); err != nil {
		t.Fatal(err)
	}
	if got = u.Run(t, "kill", application); got.Code != 0 || got.Stdout != application+" has ended already: KILLED (KILLED)\n" {
		t.Errorf("second kill: %s", got)
	}
	u.CheckGone(t, application)
	if state := listed(t, u, application); state != "" {
		t.Errorf("it is listed as %q among those that wait or run", state)
	}
	if state := listed(t, u, application, "--all"); state != "KILLED" {
		t.Errorf("it is listed as %q among all", state)
	}
	// YARN may still collect the logs. The command waits, but not for ever.
	wait.Until(t, "the logs are collected", func() bool {
		got = u.Run(t, "logs", "--file", "jobmanager.log", application)
		return got.Code == 0
	})
	if countLines(got.Stdout, "ApplicationMaster starts") != 1 {
		t.Errorf("logs of one that has just been killed: %s", got)
	}
	got = u.Run(t, "logs", "--file", "nothing.log", application)
	if got.Code != 1 || !strings.Contains(got.Stderr, application+" has no such log; it has: ") || !strings.Contains(got.Stderr, " jobmanager.log, ") {
		t.Errorf("a log that is not there: %s", got)
	}
}

// listed returns an application's state in `bobbin applications -o json`, or "" if it is not
// listed.
func listed(t *testing.T, u *bobbintest.User, application string, flags ...string) string {
	t.Helper()
	got := u.Run(t, append([]string{"applications", "-o", "json"}, flags...)...)
	var list struct {
		Applications []struct{ Application, State, Name, User string }
	}
	if err := json.Unmarshal([]byte(got.Stdout), &list); err != nil || got.Code != 0 {
		t.Fatalf("%v: %s", err, got)
	}
	for _, a := range list.Applications {
		if a.Application == application {
			if a.Name != "followed" || a.User != u.Name {
				t.Errorf("it is listed as %+v", a)
			}
			return a.State
		}
	}
	return ""
}

// TestJSONIsTheOnlyOutput would catch output of the program between the command's JSON, and a
// failure without a JSON object.
func TestJSONIsTheOnlyOutput(t *testing.T) {
	t.Parallel()
	u := suite.User(t, bobbintest.Alice)
	dir := u.Scratch(t)
	u.Write(t, dir+"/text", "to be\n")
	wordcount := suite.Program(t, "wordcount")
	runs := func(t *testing.T, args ...string) (bobbintest.Outcome, bobbintest.Report) {
		t.Helper()
		got := u.Run(t, bobbintest.Small(append([]string{"-o", "json"}, args...)...)...)
		if strings.Count(got.Stdout, "\n") != 1 {
			t.Errorf("want one line on stdout, got %s", got)
		}
		return got, got.JSON(t)
	}
	t.Run("a job that is done", func(t *testing.T) {
		t.Parallel()
		got, report := runs(t, wordcount, "--input", dir+"/text", "--output", dir+"/out")
		if got.Code != 0 || report.Error != "" || report.JobStatus != "FINISHED" || report.Counters["words"] != 2 {
			t.Error(got)
		}
		var names []string
		for _, step := range report.Steps {
			names = append(names, step.Name)
		}
		for _, want := range []string{"planned", "checked", "staged", "submitted", "RUNNING", "FINISHED"} {
			if !slices.Contains(names, want) {
				t.Errorf("step %s is not among %v", want, names)
			}
		}
	})
	t.Run("a job that fails", func(t *testing.T) {
		t.Parallel()
		got, report := runs(t, "-D", "restart-strategy.type=none", suite.Program(t, "faulty"), "task-panic", dir+"/text", dir+"/none")
		if got.Code != 1 || report.JobStatus != "FAILED" || report.FinalStatus != "FAILED" || !strings.Contains(report.Error, "panic: a task has had enough") {
			t.Error(got)
		}
	})
	t.Run("a job that is refused", func(t *testing.T) {
		t.Parallel()
		got, report := runs(t, wordcount, "--input", dir+"/nothing", "--output", dir+"/x")
		if got.Code != 1 || report.Application != "" || !slices.Equal(withoutWaits(got.Stderr), []string{"bobbin: " + report.Error}) {
			t.Error(got)
		}
	})
	// The program's own output must not be on stdout. Help is no failure.
	t.Run("a program that prints", func(t *testing.T) {
		t.Parallel()
		got, report := runs(t, wordcount, "--help")
		if got.Code != 0 || !strings.Contains(got.Stderr, "Usage of wordcount") || report.Error != "" {
			t.Error(got)
		}
	})
	t.Run("a program that prints and has no plan", func(t *testing.T) {
		t.Parallel()
		got := u.Run(t, "info", "-o", "json", wordcount, "--help")
		if got.Code != 0 || got.Stdout != `{"plan":null}`+"\n" || !strings.Contains(got.Stderr, "Usage of wordcount") {
			t.Error(got)
		}
	})
}
