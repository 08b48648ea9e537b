package client_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/client"
)

// TestStepsOfTwoMachinesAreInOrder would catch a table of the start-up in which
// the ApplicationMaster starts after the job that it runs.
func TestStepsOfTwoMachinesAreInOrder(t *testing.T) {
	start := time.UnixMilli(1000)
	timeline := client.NewTimeline(start)
	timeline.DoneAt("submitted", start.Add(200*time.Millisecond))
	timeline.DoneAt("RUNNING", start.Add(500*time.Millisecond))
	timeline.DoneAt("appmaster started", start.Add(400*time.Millisecond))
	want := []client.Step{{Name: "submitted", Millis: 200}, {Name: "appmaster started", Millis: 400}, {Name: "RUNNING", Millis: 500}}
	if diff := cmp.Diff(want, timeline.Steps()); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if steps := client.NewTimeline(start).Steps(); steps == nil {
		t.Error("no steps must be an empty list, not null, in JSON")
	}
}
