package web

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// listed waits until a master has a job with this name, and returns its ID.
func listed(t *testing.T, m *bobbintest.Master, name string) string {
	t.Helper()
	return wait.Answer(t, "job "+name+" is listed", func() (string, error) {
		var jobs struct{ Jobs []struct{ JID, Name string } }
		if err := m.Get(t.Context(), "/jobs/overview", &jobs); err != nil {
			return "", err
		}
		for _, j := range jobs.Jobs {
			if j.Name == name {
				return j.JID, nil
			}
		}
		return "", fmt.Errorf("the jobs are %+v", jobs.Jobs)
	})
}

// TestThePageShowsWhatAJobDoesAndDid would catch a flame graph that does not name the user's function that keeps a vertex busy;
// and a history server whose page asks for what no archive has, offers pages of a running application, or does not say how a
// job ended; and a page of an application without jobs, or of one that has ended, that leads nowhere.
func TestThePageShowsWhatAJobDoesAndDid(t *testing.T) {
	t.Parallel()
	u := suite.Newcomer(t)
	server := u.HistoryServer(t, u.Scratch(t))
	application := u.StartSession(t, append(server.Options(), "-jm", "256m", "-tm", "896m", "-s", "11",
		"-D", "rest.flamegraph.enabled=true", "-D", "rest.profiling.enabled=true", "-D", "rest.flamegraph.refresh-interval=5s", "-D", "restart-strategy.type=none")...)
	live, at := open(t), "http://"+u.Cluster.RMWebAddress()+"/proxy/"+application+"/"
	live.visit(t, "empty", at, "There is no job.", "There is no worker.")
	dir := u.Scratch(t)
	u.Put(t, suite.Generate(t, "-size", "8m", "-files", "1"), dir+"/text")
	run := func(output string, fails bool, program string, args ...string) {
		t.Helper()
		args = append([]string{"run", "-t", "yarn-session", "-id", application, "-p", "1", suite.Program(t, program)}, args...)
		if got := u.Run(t, append(args, dir+"/text", dir+output)...); (got.Code != 0) != fails {
			t.Fatal(got)
		}
	}
	run("/sifted", false, "grep", "a")
	run("/none", true, "faulty", "task-panic")
	got := u.Run(t, "run", "-d", "-t", "yarn-session", "-id", application, "-p", "1", suite.Program(t, "weave"), "1", "1", dir+"/text", dir+"/woven")
	if got.Code != 0 {
		t.Fatal(got)
	}
	master := u.Master(t, application)
	woven, failed, finished := listed(t, master, "weave"), listed(t, master, "faulty"), listed(t, master, "grep")

	t.Run("live", func(t *testing.T) {
		var job struct {
			Vertices []struct{ ID, Name string }
		}
		if err := master.Get(t.Context(), "/jobs/"+woven, &job); err != nil || len(job.Vertices) < 2 {
			t.Fatalf("the job is %+v: %v", job, err)
		}
		b := open(t)
		b.during(t, master, woven)
		door := b.door(t, u, application)
		b.visit(t, "flames-busy", door+"#/jobs/"+woven+"/flames/"+job.Vertices[1].ID, job.Vertices[1].Name, "main.tie", "sampled at")
		worker := door + "#/workers/" + master.Workers(t)[0]
		b.flames(t, "flames-host", worker, "Processor time", aHost, "main.tie")
		b.flames(t, "flames-worker", worker, "Processor time", theWorker, "runtime.")
	})
	if got := u.Run(t, "cancel", "-id", application, woven); got.Code != 0 {
		t.Fatal(got)
	}
	t.Run("past", func(t *testing.T) {
		b := open(t)
		past := server.URL + "/"
		b.keepsTo(past)
		b.visit(t, "history", past, "Jobs that have ended", "grep", "finished", "faulty", "failed", "weave", "canceled")
		checkStructure(t, b)
		if links := evaluates[[]string](t, b, `[...document.querySelectorAll("nav[aria-label=Pages] a")].map(e => e.innerText)`); len(links) != 1 {
			t.Errorf("the page of the history offers %q", links)
		}
		b.visit(t, "history-failed", past+"#/jobs/"+failed, "Why it failed", "main.misbehave", "faulty/main.go:")
		b.visit(t, "history-exceptions", past+"#/jobs/"+failed+"/exceptions", "Root cause", "main.misbehave")
		for _, tab := range []page{
			{"graph", "finished"}, {"subtasks", "Busy time"}, {"timeline", "grep"}, {"flames", "The job does not run."}, {"exceptions", "Nothing has failed"}, {"counters", "Counters of the job"}, {"configuration", "that the job was planned with"}, {"plan", "Parallelism"},
		} {
			b.visit(t, "history-"+tab.tab, past+"#/jobs/"+finished+"/"+tab.tab, "Ended jobs", tab.text)
		}
		checkStructure(t, b)
	})
	t.Run("gone", func(t *testing.T) {
		if got := u.Run(t, "session", "stop", "-id", application); got.Code != 0 {
			t.Fatal(got)
		}
		live.says(t, "gone-live", "The application has ended.", "weave")
		live.clicks(t, `a[href="./"]`)
		live.says(t, "gone-past", "Jobs that have ended", "weave")
		if now := evaluates[string](t, live, "location.href"); !strings.HasPrefix(now, server.URL) {
			t.Errorf("YARN leads to %s, and not to the history server at %s", now, server.URL)
		}
	})
}
