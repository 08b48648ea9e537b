package msg

import (
	"testing"
	"time"
)

// TestWhatAJobWaitsForIsSaid would catch another job's slots that count as the job's own, and a
// message about a requested container when none is requested.
func TestWhatAJobWaitsForIsSaid(t *testing.T) {
	clock := func(at time.Time) string { return at.Format(time.TimeOnly) }
	asked := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		supply SlotSupply
		held   int
		want   string
	}{
		"another job holds all": {SlotSupply{Total: 4, Requested: 2, RequestedSince: asked}, 0, "it needs 4 slots and has 0; other jobs hold 4; containers requested from YARN: 2, since 03:04:05"},
		"it has some itself":    {SlotSupply{Total: 4, Free: 1, Requested: 1, RequestedSince: asked}, 3, "it needs 4 slots and has 3; containers requested from YARN: 1, since 03:04:05"},
		"they are coming":       {SlotSupply{Starting: 2}, 0, "it needs 4 slots and has 0; workers starting: 2"},
		"some are coming":       {SlotSupply{Starting: 1, Requested: 1, RequestedSince: asked}, 0, "it needs 4 slots and has 0; containers requested from YARN: 1, since 03:04:05; workers starting: 1"},
		"there may be no more":  {SlotSupply{Total: 2}, 2, "it needs 4 slots and has 2; no containers are requested"},
		"YARN refuses":          {SlotSupply{Requested: 1, RequestedSince: asked, Refused: "too large"}, 0, "it needs 4 slots and has 0; YARN gives no more containers: too large"},
	} {
		if got := c.supply.Explain(SlotDemand{Needed: 4, Held: c.held}, clock); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	supply := SlotSupply{Jobs: []SlotDemand{{Job: "a", Needed: 2, Held: 2}, {Job: "b", Needed: 2}}}
	if d, known := supply.Of("b"); !known || !d.Waits() || supply.Jobs[0].Waits() {
		t.Errorf("of b: %+v, %v", d, known)
	}
	if _, known := supply.Of("c"); known {
		t.Error("a job that needs no slots is known")
	}
}
