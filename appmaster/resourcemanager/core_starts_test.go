package resourcemanager

import (
	"testing"
	"time"
)

// TestFailuresOfStartsInAMinute would catch a pause after too few failures, or none after many, and
// failures that count for longer than a minute. It would also catch a core that keeps thousands of
// times, and reads all of them at each failure, when thousands of containers fail at once.
func TestFailuresOfStartsInAMinute(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limit  float64
		pauses int // number of the failure that starts a pause
	}{{0.5, 1}, {1, 2}, {2.5, 3}, {10, 11}} {
		now := testEpoch
		f := failureRate{limit: test.limit, pause: 3 * time.Second}
		for minute := range 2 {
			for n := 1; n <= 10_000; n++ {
				if f.record(now, "disk full"); f.paused(now) != (n >= test.pauses) {
					t.Fatalf("more than %v a minute: paused by failure %d of minute %d: %v", test.limit, n, minute, f.paused(now))
				}
			}
			if most := int(test.limit) + 1; len(f.recent) > most {
				t.Errorf("more than %v a minute: %d times are kept, want %d", test.limit, len(f.recent), most)
			}
			if !f.since.Equal(now) {
				t.Errorf("the first failure of minute %d was %s, want %s", minute, f.since, now)
			}
			now = now.Add(time.Minute)
		}
	}
}
