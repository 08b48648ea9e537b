package sessions

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// application starts a program in a cluster of its own, and returns the application's id.
func application(t *testing.T, u *bobbintest.User, args ...string) string {
	t.Helper()
	got := submit(t, u, args...)
	if got.Code != 0 {
		t.Fatal(got)
	}
	return got.Application(t)
}

// submit is application for a program that may end before its client has seen it run.
func submit(t *testing.T, u *bobbintest.User, args ...string) bobbintest.Outcome {
	t.Helper()
	got := u.Run(t, append([]string{"run-application", "-jm", "256m", "-tm", "512m"}, args...)...)
	id := got.Application(t)
	t.Cleanup(func() { u.Run(t, "kill", id) })
	return got
}

// ended waits until YARN reports this final state of an application.
func ended(t *testing.T, u *bobbintest.User, id, state, final string) cluster.RMApp {
	t.Helper()
	app := u.WaitEnded(t, id)
	if app.State != state || app.FinalStatus != final {
		t.Errorf("YARN says %s (%s), want %s (%s): %s", app.State, app.FinalStatus, state, final, app.Diagnostics)
	}
	u.CheckGone(t, id)
	return app
}

// TestAnApplicationRunsItsProgramInTheCluster would catch a program that is uploaded although the cluster has it, one
// whose second job does not run, an application that ends before its jobs or does not end, and output of the driver
// that is lost.
func TestAnApplicationRunsItsProgramInTheCluster(t *testing.T) {
	t.Parallel()
	u, _ := person(t)
	dir := u.Scratch(t)
	u.Write(t, dir+"/lines", "to be\nor not\nto do\n")
	u.Put(t, suite.Program(t, "several"), dir+"/sifter")
	for _, c := range []struct {
		name    string
		command []string
		words   []string
		found   []string // with the last word
		said    string   // from the driver
	}{
		{
			"a program on HDFS, two jobs",
			[]string{"run-application", "hdfs://" + dir + "/sifter"},
			[]string{"to", "be"},
			[]string{"to be"},
			"2 lines hold to\n1 lines hold be\n",
		},
		{
			"no host in its URI, detached",
			[]string{"run", "-t", "yarn-application", "-d", "hdfs:" + dir + "/sifter"},
			[]string{"to"},
			[]string{"to be", "to do"},
			"0 lines hold to\n", // it does not wait for the result
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			output := dir + "/" + strings.ReplaceAll(c.name, " ", "-")
			got := u.Run(t, slices.Concat(c.command, []string{dir + "/lines", output}, c.words)...)
			if got.Code != 0 || got.Stdout != "" {
				t.Fatal(got)
			}
			id := got.Application(t)
			if app := ended(t, u, id, "FINISHED", "SUCCEEDED"); app.Diagnostics != "" {
				t.Errorf("diagnostics %q", app.Diagnostics)
			}
			last := output + "-" + string(rune('0'+len(c.words)))
			if diff := cmp.Diff(c.found, u.Output(t, last)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", last, diff)
			}
			u.WaitLogs(t, id)
			if got := u.Run(t, "logs", id); !strings.Contains(got.Stdout, c.said) {
				t.Errorf("the driver's words %q are not in the logs: %s", c.said, got)
			}
			if cache := u.Staging(t).Cache; slices.ContainsFunc(cache, func(file string) bool { return strings.HasSuffix(file, "/sifter") }) {
				t.Errorf("the program is uploaded: %v", cache)
			}
		})
	}
}

// TestAnApplicationThatFailsSaysWhy would catch a driver that fails without an error for its owner, and a failure that
// counts as success.
func TestAnApplicationThatFailsSaysWhy(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	u, _ := person(t)
	dir := u.Scratch(t)
	u.Write(t, dir+"/lines", "to be\n")
	u.Put(t, suite.Program(t, "faulty"), dir+"/faulty")
	for mode, want := range map[string]string{
		"driver-panic": "the driver loses its head",
		"driver-exit":  "last words of the driver",
		"task-panic":   "a task has had enough",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			got := submit(t, u, "hdfs://"+dir+"/faulty", mode, dir+"/lines", dir+"/"+mode)
			if got.Code != 0 && !strings.Contains(got.Stderr, want) {
				t.Errorf("the command fails and is without %q: %s", want, got)
			}
			if app := ended(t, u, got.Application(t), "FINISHED", "FAILED"); !strings.Contains(app.Diagnostics, want) {
				t.Errorf("YARN's diagnostics are without %q:\n%s", want, app.Diagnostics)
			}
		})
	}
}

// TestAnApplicationIsReachedWhileItRuns would catch a cancellation that counts as failure, a cluster that ends although
// it should stay, and an ended driver that the master does not notice.
func TestAnApplicationIsReachedWhileItRuns(t *testing.T) {
	cluster.Thorough(t)
	t.Parallel()
	u, _ := person(t)
	which := func(id string) []string { return []string{"-t", "yarn-application", "-Dyarn.application.id=" + id} }
	t.Run("its job is cancelled", func(t *testing.T) {
		t.Parallel()
		id := application(t, u, suite.SlowJob(t, u).Args...)
		if got := u.Run(t, slices.Concat([]string{"cancel"}, which(id), []string{onlyJob(t, u, id).Job})...); got.Code != 0 {
			t.Fatal(got)
		}
		ended(t, u, id, "FINISHED", "KILLED")
	})
	t.Run("its driver is killed", func(t *testing.T) {
		t.Parallel()
		id := application(t, u, suite.SlowJob(t, u).Args...)
		onlyJob(t, u, id)
		bobbintest.ProcessesIn(t, id, bobbintest.Driver)[0].Kill(t)
		if app := ended(t, u, id, "FINISHED", "FAILED"); !strings.Contains(app.Diagnostics, "signal: killed") {
			t.Errorf("diagnostics %q", app.Diagnostics)
		}
	})
	t.Run("its cluster stays", func(t *testing.T) {
		t.Parallel()
		dir := u.Scratch(t)
		u.Write(t, dir+"/lines", "line\n")
		id := application(t, u, "-D", "execution.shutdown-on-application-finish=false", suite.Program(t, "several"), dir+"/lines", dir+"/sifted", "line")
		wait.Until(t, "the job of "+id+" has ended", func() bool {
			listed := jobs(t, u, append(which(id), "-a")...)
			return len(listed) == 1 && listed[0].JobStatus == "FINISHED"
		})
		wait.For(t, "its program has ended", func() (bool, error) {
			log, err := u.AskByProxy(t.Context(), http.MethodGet, id, "/jobmanager/log")
			return strings.Contains(log.Body, "program has ended"), err
		})
		if app := u.App(t, id); app.State != "RUNNING" {
			t.Errorf("YARN says %s", app.State)
		}
		if got := u.Run(t, append([]string{"session", "stop"}, which(id)...)...); got.Code != 0 {
			t.Error(got)
		}
		ended(t, u, id, "FINISHED", "SUCCEEDED")
	})
}

// onlyJob waits until an application's only job runs, and returns it. Between two masters, an application does not
// answer.
func onlyJob(t *testing.T, u *bobbintest.User, id string) (only job) {
	t.Helper()
	wait.Until(t, "the job of "+id+" runs", func() bool {
		got := u.Run(t, "list", "-r", "-o", "json", "-id", id)
		if got.Code != 0 {
			return false
		}
		listed := listedIn(t, got)
		if len(listed) == 1 {
			only = listed[0]
		}
		return len(listed) == 1
	})
	return only
}
