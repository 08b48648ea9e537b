package inputs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/bobbintest"
)

// TestClientFollowsTheNextAttempt would catch a second ApplicationMaster that
// cannot start where the first has left its files, a client that talks to the dead
// one, and an output with lines of both.
func TestClientFollowsTheNextAttempt(t *testing.T) {
	t.Parallel()
	u := suite.User(t, bobbintest.Alice)
	dir := u.Scratch(t)
	u.Write(t, dir+"/lines", strings.Repeat("line\n", 3000)) // three seconds
	c := u.Start(t, perJob("-D", "yarn.application-attempts=2", "-o", "json", suite.Program(t, "faulty"), "slow", dir+"/lines", dir+"/out")...)
	application := c.Application(t)
	bobbintest.Eventually(t, "its tasks run", func() (bool, error) {
		return len(bobbintest.ProcessesIn(t, application, bobbintest.TaskHost)) == 1, nil
	})
	c.Says(t, "job is RUNNING")
	for _, master := range bobbintest.ProcessesIn(t, application, bobbintest.ApplicationMaster) {
		master.Kill(t)
	}
	c.Says(t, application+" has a new ApplicationMaster: the job begins anew")
	got := c.Wait(t)
	if report := got.JSON(t); got.Code != 0 || report.JobStatus != "FINISHED" || report.FinalStatus != "SUCCEEDED" {
		t.Errorf("want the job done, got %s", got)
	}
	if diff := cmp.Diff([]string{"l\t3000"}, u.Output(t, dir+"/out")); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
	u.CheckGone(t, application)
}
