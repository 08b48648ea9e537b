package dispatcher

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestARecoveredJobBeginsWithItsRecovery would catch a job whose start seems to have taken the hours that an earlier master
// ran it.
func TestARecoveredJobBeginsWithItsRecovery(t *testing.T) {
	t.Parallel()
	at := testEpoch.Add(2 * time.Hour)
	job := RecoveredJob{Submission: Submission{Job: "j1", Graph: &jobgraph.JobGraph{Name: "words"}}, Submitted: testEpoch}
	for _, e := range newCore(configured(Session)).Step(at, recovered{Recovered{Jobs: []RecoveredJob{job}}}) {
		start, is := e.(StartJobMaster)
		if !is {
			continue
		}
		if !start.Resumed.Equal(at) || !start.Submitted.Equal(testEpoch) {
			t.Errorf("resumed at %v, submitted at %v", start.Resumed, start.Submitted)
		}
		initial := newRunningJob(start).initial
		want := []msg.Step{{Name: msg.StepRecovered, At: at}}
		if diff := cmp.Diff(want, initial.Steps); diff != "" || !initial.Timestamps[msg.JobInitializing].Equal(at) || !initial.Start.Equal(testEpoch) {
			t.Errorf("before it has a JobMaster, it began at %v and is INITIALIZING since %v; steps (-want +got):\n%s", initial.Start, initial.Timestamps[msg.JobInitializing], diff)
		}
		return
	}
	t.Fatal("the job is not started")
}
