package run

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestWaitingIsToldInOneSentence would catch that all of YARN's diagnostics are printed.
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

// TestEachStateIsPrintedOnce would catch a line for each report of YARN, a wait without a message, and a
// message without the start or the present reason of the wait.
func TestEachStateIsPrintedOnce(t *testing.T) { synctest.Test(t, eachStateIsPrintedOnce) }

func eachStateIsPrintedOnce(t *testing.T) {
	var out bytes.Buffer
	r := &witness{Journal: NewJournal(&out, time.Now(), false)}
	id := records.ApplicationID{ClusterTimestamp: 1, ID: 2}
	url, why := "N/A", "no room"
	see := func(state records.ApplicationState, final records.FinalApplicationStatus) {
		r.state(records.ApplicationReport{ID: id, State: state, FinalStatus: final, TrackingURL: url, Diagnostics: why})
	}
	see(records.ApplicationSubmitted, records.FinalUndefined)
	url = "http://rm/proxy/"
	see(records.ApplicationAccepted, records.FinalUndefined)
	see(records.ApplicationAccepted, records.FinalUndefined)
	accepted := time.Now()
	began := accepted.Local().Format(time.TimeOnly)
	for range 80 { // reports of YARN
		time.Sleep(time.Second)
		see(records.ApplicationAccepted, records.FinalUndefined)
		if time.Since(accepted) > time.Minute {
			why = "no room yet"
		}
	}
	see(records.ApplicationRunning, records.FinalUndefined)
	see(records.ApplicationRunning, records.FinalUndefined)
	see(records.ApplicationFinished, records.FinalSucceeded)
	want := fmt.Sprintf(`application_1_0002 is SUBMITTED
application_1_0002 is ACCEPTED
application_1_0002 waits for its container since %[1]s: no room
application_1_0002 waits for its container since %[1]s: no room yet
application_1_0002 is RUNNING, http://rm/proxy/
application_1_0002 is FINISHED (SUCCEEDED)
`, began)
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("printed (-want +got):\n%s", diff)
	}
	if r.Outcome.State != "FINISHED" || r.Outcome.FinalStatus != "SUCCEEDED" || len(r.ordered()) != 4 {
		t.Errorf("outcome %+v, steps %v", r.Outcome, r.ordered())
	}
}

// TestARoundedContainerIsToldOnce would catch the same line for each report of YARN.
func TestARoundedContainerIsToldOnce(t *testing.T) {
	var out bytes.Buffer
	r := &witness{Journal: NewJournal(&out, time.Now(), false)}
	r.size(512, 512, false)
	r.size(512, 1024, true)
	r.size(512, 1024, true)
	if got, want := out.String(), "YARN rounds the ApplicationMaster's container up from 512 MB to 1024 MB\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
}
