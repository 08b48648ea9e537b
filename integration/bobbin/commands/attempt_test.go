package commands

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
)

// TestClientFollowsTheNextAttempt would catch a second ApplicationMaster that
// cannot start where the first has left its files, a client that talks to the dead
// one, and an output with lines of both.
func TestClientFollowsTheNextAttempt(t *testing.T) {
	t.Parallel()
	d := suite.Dawdle(t, suite.User(t, bobbintest.Alice), "-D", "yarn.application-attempts=2", "-o", "json")
	d.Run.Says(t, "job is RUNNING")
	d.First(t, bobbintest.ApplicationMaster).Kill(t)
	d.Run.Says(t, d.Application+" has a new ApplicationMaster: the job begins anew")
	d.CheckSucceeds(t)
	if report := d.Run.Seen().JSON(t); report.JobStatus != "FINISHED" || report.FinalStatus != "SUCCEEDED" {
		t.Errorf("want the job done, got %+v", report)
	}
}
