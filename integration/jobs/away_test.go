package jobs

import (
	"slices"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/cluster"
)

// committed waits until a job has written its output; its ApplicationMaster has
// still to end the application.
func (d *dawdler) committed(t testing.TB) {
	t.Helper()
	bobbintest.Eventually(t, "the output is committed", func() (bool, error) {
		return slices.Contains(d.user.Names(t, d.output), "_SUCCESS"), nil
	})
}

// TestTheEndOfAJobWaitsForYARNAndNotForHDFS would catch a job that has done its
// work and whose application fails, as a daemon was restarted at that moment.
func TestTheEndOfAJobWaitsForYARNAndNotForHDFS(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Config{Users: []string{bobbintest.Alice}})
	alice := suite.UserOf(t, c, bobbintest.Alice)

	d := dawdle(t, alice, "-d", "-p", "2")
	if err := c.Stop(t.Context(), "resourcemanager"); err != nil {
		t.Fatal(err)
	}
	d.release(t)
	d.committed(t)
	if err := c.Restart(t.Context(), "resourcemanager"); err != nil {
		t.Fatal(err)
	}
	bobbintest.Eventually(t, "YARN knows its applications again", func() (bool, error) {
		_, err := c.RM().App(t.Context(), d.application)
		return err == nil, nil // its web server answers before it has read them
	})
	if app := alice.WaitEnded(t, d.application); app.FinalStatus != "SUCCEEDED" {
		t.Errorf("YARN was away: application is %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
	}
	alice.CheckGone(t, d.application)

	d = dawdle(t, alice, "-p", "2", "-D", "cluster.services.shutdown-timeout=2s")
	bobbintest.Process{PID: d.run.PID()}.Kill(t) // the master waits 5 s for its client
	d.release(t)
	d.committed(t)
	if err := c.Kill(t.Context(), "namenode"); err != nil {
		t.Fatal(err)
	}
	if app := alice.WaitEnded(t, d.application); app.FinalStatus != "SUCCEEDED" {
		t.Errorf("HDFS was away: application is %s (%s): %s", app.State, app.FinalStatus, app.Diagnostics)
	}
	bobbintest.WaitNoProcesses(t, d.application)
	if err := c.Restart(t.Context(), "namenode"); err != nil { // what the test has written is removed
		t.Fatal(err)
	}
}
