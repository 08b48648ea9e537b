package slowtask

import (
	"testing"
	"time"
)

// TestATaskIsSlow would catch a task that is called slow because it has more to do than others, and one that is not called slow
// although it is stuck.
func TestATaskIsSlow(t *testing.T) {
	t.Parallel()
	const mb = 1 << 20
	settings := Settings{LowerBound: 10 * time.Second, Multiplier: 1.5, Ratio: 0.75}
	for name, test := range map[string]struct {
		finished []Work
		running  Work
		slow     bool
	}{
		"below the lower bound": {[]Work{{time.Second, mb}}, Work{9 * time.Second, mb}, false},
		"at the lower bound":    {[]Work{{time.Second, mb}}, Work{10 * time.Second, mb}, true},
		"below the multiple":    {[]Work{{20 * time.Second, mb}}, Work{29 * time.Second, mb}, false},
		"at the multiple":       {[]Work{{20 * time.Second, mb}}, Work{30 * time.Second, mb}, true},
		"the median counts":     {[]Work{{time.Second, mb}, {20 * time.Second, mb}, {99 * time.Second, mb}}, Work{31 * time.Second, mb}, true},
		"a task with more to do": {
			[]Work{{20 * time.Second, mb}, {20 * time.Second, mb}}, Work{59 * time.Second, 2 * mb}, false,
		},
		"a task with more to do is stuck": {
			[]Work{{20 * time.Second, mb}, {20 * time.Second, mb}}, Work{60 * time.Second, 2 * mb}, true,
		},
		"a task with less to do":               {[]Work{{20 * time.Second, mb}}, Work{29 * time.Second, mb / 4}, false},
		"nobody knows what was read":           {[]Work{{20 * time.Second, 0}}, Work{30 * time.Second, 0}, true},
		"a task that reads, beside empty ones": {[]Work{{20 * time.Second, 0}}, Work{30 * time.Second, mb}, true},
	} {
		if slow := settings.Baseline(test.finished).Slow(test.running); slow != test.slow {
			t.Errorf("%s: slow is %t", name, slow)
		}
	}
}

// TestABaselineNeedsFinishedTasks would catch a baseline of too few tasks.
func TestABaselineNeedsFinishedTasks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		ratio         float64
		finished, all int
		enough        bool
	}{
		{0.75, 2, 4, false}, {0.75, 3, 4, true}, {0.75, 0, 1, false}, {1, 3, 4, false}, {1, 4, 4, true}, {0, 0, 4, false}, {0, 1, 4, true},
	} {
		if got := (Settings{Ratio: test.ratio}).Enough(test.finished, test.all); got != test.enough {
			t.Errorf("%d of %d are enough for %g: %t", test.finished, test.all, test.ratio, got)
		}
	}
}
