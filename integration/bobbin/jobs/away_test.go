package jobs

import (
	"slices"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// committed waits until a job has written its output. Its ApplicationMaster then still has to end the application.
func committed(t testing.TB, d *bobbintest.Dawdler) {
	t.Helper()
	wait.Until(t, "the output is committed", func() bool {
		return slices.Contains(d.User.Names(t, d.Output), "_SUCCESS")
	})
}

// finished waits until a job's master knows of its end. The last output file appears a moment earlier. If a test killed
// the NameNode at that moment, the job would not get the answer to its last rename.
func finished(t testing.TB, d *bobbintest.Dawdler) {
	t.Helper()
	wait.For(t, "the job is FINISHED", func() (bool, error) {
		var answer struct{ Status msg.JobStatus }
		err := d.Master.Get(t.Context(), "/jobs/"+d.Job+"/status", &answer)
		return answer.Status == msg.JobFinished, err
	})
}

// TestTheEndOfAJobWaitsForYARNAndNotForHDFS would catch a finished job whose application fails because a daemon
// restarts at that moment.
func TestTheEndOfAJobWaitsForYARNAndNotForHDFS(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	c := clusters.Change(t, suite.Kind(clusters.Victim), "stops the ResourceManager and kills the NameNode")
	alice := suite.UserOf(t, c, bobbintest.Alice)

	d := suite.Dawdle(t, alice, "-d", "-p", "2")
	if err := c.Stop(t.Context(), "resourcemanager"); err != nil {
		t.Fatal(err)
	}
	d.Release(t)
	committed(t, d)
	if err := c.Restart(t.Context(), "resourcemanager"); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "YARN knows its applications again", func() (bool, error) {
		_, err := c.RM().App(t.Context(), d.Application)
		return err == nil, nil // its web server answers before it has read them
	})
	if app := alice.WaitEnded(t, d.Application); app.FinalStatus != "SUCCEEDED" {
		t.Errorf("YARN was away: application is %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
	}
	alice.CheckGone(t, d.Application)

	d = suite.Dawdle(t, alice, "-p", "2", "-D", "cluster.services.shutdown-timeout=2s")
	bobbintest.Process{PID: d.Run.PID()}.Kill(t) // the master waits 5 s for its client
	d.Release(t)
	finished(t, d)
	if err := c.Kill(t.Context(), "namenode"); err != nil {
		t.Fatal(err)
	}
	if app := alice.WaitEnded(t, d.Application); app.FinalStatus != "SUCCEEDED" {
		t.Errorf("HDFS was away: application is %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
	}
	bobbintest.WaitNoProcesses(t, d.Application)
	if err := c.Restart(t.Context(), "namenode"); err != nil { // the test's files are removed
		t.Fatal(err)
	}
}
