package commands

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
)

// TestCommandsNameApplicationsThatAreNotThere would catch Java's words, and logs
// of nothing that look like no news.
func TestCommandsNameApplicationsThatAreNotThere(t *testing.T) {
	t.Parallel()
	u := suite.User(t, hasty)
	const unknown = "application_1_0001"
	for _, c := range []struct{ command, argument, says string }{
		{"logs", "application_x", `"application_x" is no application id, such as application_1700000000000_0001`},
		{"kill", "17", `"17" is no application id, such as application_1700000000000_0001`},
		{"logs", unknown, unknown + " is not known to YARN, and HDFS has no logs of it by user " + hasty},
		{"kill", unknown, unknown + " is not known to YARN: bobbin applications lists"},
	} {
		got := u.Run(t, c.command, c.argument)
		if got.Code != 1 || got.Stdout != "" || strings.Count(got.Stderr, "\n") != 1 || !strings.Contains(got.Stderr, c.says) {
			t.Errorf("%s %s: want %q, got %s", c.command, c.argument, c.says, got)
		}
	}
}

// TestCommandsFollowAnApplication would catch a command that does not see what run
// has started: detached, running, killed, ended.
func TestCommandsFollowAnApplication(t *testing.T) {
	t.Parallel()
	u := suite.User(t, bobbintest.Alice)
	job := slowJob(t, u)
	started := u.Run(t, append(perJob("-d", "-o", "json", "-nm", "followed"), job...)...)
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
	for _, state := range []string{"ACCEPTED", "RUNNING"} {
		if n := countLines(started.Stderr, application+" is "+state); n != 1 {
			t.Errorf("state %s is printed %d times: %s", state, n, started)
		}
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
	// What a master that YARN has ended could not remove.
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
	// YARN may still collect them: the command waits.
	if got = u.Run(t, "logs", "--file", "jobmanager.log", application); got.Code != 0 || countLines(got.Stdout, "application master starts") != 1 {
		t.Errorf("logs of one that has just been killed: %s", got)
	}
	got = u.Run(t, "logs", "--file", "nothing.log", application)
	if got.Code != 1 || !strings.Contains(got.Stderr, "no such log of "+application+"; there are: ") || !strings.Contains(got.Stderr, ", jobmanager.log, ") {
		t.Errorf("a log that is not there: %s", got)
	}
}

// listed gives an application's state in `bobbin applications -o json`; "" where
// it is not listed.
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

// TestJSONIsTheOnlyOutput would catch a script that has to search for the object
// among what the program prints, and one that is told nothing of a failure.
func TestJSONIsTheOnlyOutput(t *testing.T) {
	t.Parallel()
	u := suite.User(t, bobbintest.Alice)
	dir := u.Scratch(t)
	u.Write(t, dir+"/text", "to be\n")
	good := u.Run(t, perJob("-o", "json", suite.Program(t, "wordcount"), "--input", dir+"/text", "--output", dir+"/out")...)
	report := good.JSON(t)
	if good.Code != 0 || strings.Count(good.Stdout, "\n") != 1 || report.Error != "" || report.JobStatus != "FINISHED" || report.Counters["words"] != 2 {
		t.Errorf("a job that is done: %s", good)
	}
	var names []string
	for _, step := range report.Steps {
		names = append(names, step.Name)
	}
	for _, want := range []string{"planned", "checked", "staged", "submitted", "ACCEPTED", "RUNNING", "FINISHED"} {
		if !slices.Contains(names, want) {
			t.Errorf("step %s is not among %v", want, names)
		}
	}
	failed := u.Run(t, perJob("-o", "json", "-D", "restart-strategy.type=none", suite.Program(t, "faulty"), "task-panic", dir+"/text", dir+"/none")...)
	report = failed.JSON(t)
	if failed.Code != 1 || strings.Count(failed.Stdout, "\n") != 1 || report.JobStatus != "FAILED" || report.FinalStatus != "FAILED" || !strings.Contains(report.Error, "panic: a task has had enough") {
		t.Errorf("a job that fails: %s", failed)
	}
	refusal := u.Run(t, perJob("-o", "json", suite.Program(t, "wordcount"), "--input", dir+"/none", "--output", dir+"/x")...)
	report = refusal.JSON(t)
	if refusal.Code != 1 || strings.Count(refusal.Stdout, "\n") != 1 || report.Application != "" || refusal.Stderr != "bobbin: "+report.Error+"\n" {
		t.Errorf("a job that is refused: %s", refusal)
	}
	// What the program itself prints must not come between. Help is no failure.
	help := u.Run(t, perJob("-o", "json", suite.Program(t, "wordcount"), "--help")...)
	if help.Code != 0 || strings.Count(help.Stdout, "\n") != 1 || !strings.Contains(help.Stderr, "Usage: wordcount") || help.JSON(t).Error != "" {
		t.Errorf("a program that prints: %s", help)
	}
	help = u.Run(t, "info", "-o", "json", suite.Program(t, "wordcount"), "--help")
	if help.Code != 0 || help.Stdout != `{"plan":null}`+"\n" || !strings.Contains(help.Stderr, "Usage: wordcount") {
		t.Errorf("a program that prints and has no plan: %s", help)
	}
}
