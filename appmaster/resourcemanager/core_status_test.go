package resourcemanager

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestStatusTellsWhatJobsWaitFor would catch a status that shows slots of another job to a user,
// and a waiting time that starts again with each status.
func TestStatusTellsWhatJobsWaitFor(t *testing.T) {
	s := &script{t: t, config: testConfig(), now: testEpoch}
	status := func() Status {
		for _, e := range s.stepper.Core.Step(s.now, statusAsked{}) {
			if answer, is := e.(reply); is {
				return answer.Content().(Status)
			}
		}
		t.Fatal("no answer")
		return Status{}
	}
	run := func(lines ...string) {
		for _, line := range lines {
			s.command(line)
		}
	}
	run("jobmaster j1 jm1", "declare j1 jm1 2", "wait 1s", "jobmaster j2 jm2", "declare j2 jm2 3", "wait 1s")
	at := testEpoch.Add
	want := Status{
		Worker: testConfig().Worker, Requested: 3, RequestedSince: at(0),
		Jobs: []msg.SlotDemand{{Job: "j1", Needed: 2, Since: at(0)}, {Job: "j2", Needed: 3, Since: at(time.Second)}},
	}
	ignored := cmpopts.IgnoreFields(Status{}, "TaskExecutors")
	if diff := cmp.Diff(want, status(), ignored); diff != "" {
		t.Errorf("before any worker (-want +got):\n%s", diff)
	}
	run("starting w1", "register w1 1 - -", "wait 1s")
	want.Requested = 2
	want.Jobs[0] = msg.SlotDemand{Job: "j1", Needed: 2, Held: 2}
	if diff := cmp.Diff(want, status(), ignored); diff != "" {
		t.Errorf("with one worker (-want +got):\n%s", diff)
	}
	run("gone j2 jm2", "wait 1s")
	want.Requested, want.RequestedSince, want.Jobs = 0, time.Time{}, want.Jobs[:1]
	if diff := cmp.Diff(want, status(), ignored); diff != "" {
		t.Errorf("without the second job (-want +got):\n%s", diff)
	}
}
