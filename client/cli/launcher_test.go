package cli

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/client"
	"github.com/bobbin-yarn/bobbin/client/progress"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestWaitingIsToldInOneSentence would catch a screen full of YARN's figures.
func TestWaitingIsToldInOneSentence(t *testing.T) {
	const full = "Application is added to the scheduler and is not yet activated. Queue's AM resource limit exceeded."
	for diagnostics, want := range map[string]string{
		"": "YARN gives no reason",
		"[Sat Nov 21 10:13:57 +0000 2026] " + full + "  Details : AM Partition = <DEFAULT_PARTITION>; ": full,
		"AM container is launched, waiting for AM container to Register with RM":                        "AM container is launched, waiting for AM container to Register with RM",
	} {
		if got := waitsFor(diagnostics); got != want {
			t.Errorf("waitsFor(%q) = %q, want %q", diagnostics, got, want)
		}
	}
}

// TestEachStateIsPrintedOnce would catch a line for each look at YARN, and a wait
// without a word.
func TestEachStateIsPrintedOnce(t *testing.T) {
	var out bytes.Buffer
	r := &launcher{say: progress.New(&out), timeline: client.NewTimeline(time.Now()), outcome: new(outcome)}
	id := records.ApplicationID{ClusterTimestamp: 1, ID: 2}
	url := "N/A"
	see := func(state records.ApplicationState, final records.FinalApplicationStatus) {
		r.state(records.ApplicationReport{ID: id, State: state, FinalStatus: final, TrackingURL: url, Diagnostics: "no room"})
	}
	see(records.ApplicationSubmitted, records.FinalUndefined)
	url = "http://rm/proxy/"
	see(records.ApplicationAccepted, records.FinalUndefined)
	see(records.ApplicationAccepted, records.FinalUndefined)
	r.since = r.since.Add(-2 * longWait)
	see(records.ApplicationAccepted, records.FinalUndefined)
	see(records.ApplicationAccepted, records.FinalUndefined)
	see(records.ApplicationRunning, records.FinalUndefined)
	see(records.ApplicationRunning, records.FinalUndefined)
	see(records.ApplicationFinished, records.FinalSucceeded)
	const want = `application_1_0002 is SUBMITTED
application_1_0002 is ACCEPTED
application_1_0002 waits for its container: no room
application_1_0002 is RUNNING, http://rm/proxy/
application_1_0002 is FINISHED (SUCCEEDED)
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
	if r.outcome.State != "FINISHED" || r.outcome.FinalStatus != "SUCCEEDED" || len(r.timeline.Steps()) != 4 {
		t.Errorf("outcome %+v, steps %v", r.outcome, r.timeline.Steps())
	}
}

// TestARoundedContainerIsToldOnce would catch the same line at each look at YARN.
func TestARoundedContainerIsToldOnce(t *testing.T) {
	var out bytes.Buffer
	r := &launcher{say: progress.New(&out)}
	r.size(512, 512, false)
	r.size(512, 1024, true)
	r.size(512, 1024, true)
	if got, want := out.String(), "YARN rounds the ApplicationMaster's container up from 512 MB to 1024 MB\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}
