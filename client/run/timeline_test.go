package run

import (
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestStepsOfTwoMachinesAreInOrder would catch a list of steps in which the ApplicationMaster starts after the
// job that it runs.
func TestStepsOfTwoMachinesAreInOrder(t *testing.T) {
	start := time.UnixMilli(1000)
	timeline := timeline{start: start}
	timeline.doneAt("submitted", start.Add(200*time.Millisecond))
	timeline.doneAt("RUNNING", start.Add(500*time.Millisecond))
	timeline.doneAt("appmaster started", start.Add(400*time.Millisecond))
	want := []step{{Name: "submitted", Millis: 200}, {Name: "appmaster started", Millis: 400}, {Name: "RUNNING", Millis: 500}}
	if diff := cmp.Diff(want, timeline.ordered()); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if steps := NewJournal(io.Discard, start, true).ordered(); steps == nil {
		t.Error("no steps must be an empty list, not null, in JSON")
	}
}
