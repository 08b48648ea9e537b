package sessions

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// executors waits until the tasks of an application run, and returns its TaskExecutors.
func executors(t *testing.T, application string) []bobbintest.Process {
	t.Helper()
	wait.Until(t, "tasks of "+application+" run", func() bool {
		return len(bobbintest.ProcessesIn(t, application, bobbintest.TaskHost)) > 0
	})
	return bobbintest.ProcessesIn(t, application, bobbintest.TaskExecutor)
}

// TestClustersOutliveTheResourceManager kills the ResourceManager below a session and an application, which each run a
// job. It would catch a master that gives up or ends its jobs because of that, one whose workers the new
// ResourceManager does not recognize, and a session that cannot get workers for another job, or cannot end.
func TestClustersOutliveTheResourceManager(t *testing.T) {
	t.Parallel()
	c := clusters.Change(t, suite.Kind(clusters.Victim), "kills the ResourceManager")
	u := suite.UserOf(t, c, bobbintest.Alice).With("TMPDIR=" + t.TempDir())
	ofSession, ofApplication := suite.SlowJob(t, u), suite.SlowJob(t, u)
	id := application(t, u, ofApplication.Args...)
	onlyJob(t, u, id)
	session := start(t, u)
	attached := u.Start(t, append([]string{"run"}, ofSession.Args...)...)
	attached.Says(t, "job is RUNNING")
	before := onlyJob(t, u, session)
	working := map[string][]bobbintest.Process{session: executors(t, session), id: executors(t, id)}

	if err := c.Kill(t.Context(), "resourcemanager"); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(t.Context(), "resourcemanager"); err != nil {
		t.Fatal(err)
	}
	for _, cluster := range []string{session, id} {
		wait.For(t, "YARN has "+cluster+" running again", func() (bool, error) {
			app, err := c.RM().App(t.Context(), cluster)
			return err == nil && app.State == "RUNNING", nil // its web server answers before it has read them
		})
	}
	other := suite.SlowJob(t, u)
	other.Release(t)
	report := run(t, u, append([]string{"-p", "4"}, other.Args...)...) // more than there is room for
	if report.Application != session || report.JobStatus != "FINISHED" {
		t.Errorf("another job of the session: %+v", report)
	}
	if after := onlyJob(t, u, session); after.Job != before.Job {
		t.Errorf("the job was %s and is %s", before.Job, after.Job)
	}
	for cluster, before := range working {
		if after := bobbintest.ProcessesIn(t, cluster, bobbintest.TaskExecutor); len(before) == 0 || slices.ContainsFunc(before, func(p bobbintest.Process) bool { return !slices.Contains(after, p) }) {
			t.Errorf("the TaskExecutors of %s were %v and are %v", cluster, before, after)
		}
	}
	ofSession.Release(t)
	ofApplication.Release(t)
	if got := attached.Wait(t); got.Code != 0 {
		t.Error(got)
	}
	ended(t, u, id, "FINISHED", "SUCCEEDED")
	for _, slow := range []*bobbintest.SlowJob{ofSession, ofApplication, other} {
		if diff := cmp.Diff(slow.Want, u.Output(t, slow.Output)); diff != "" {
			t.Errorf("output (-want +got):\n%s", diff)
		}
	}
	if got := u.Run(t, "session", "stop"); got.Code != 0 {
		t.Error(got)
	}
	ended(t, u, session, "FINISHED", "SUCCEEDED")
}
