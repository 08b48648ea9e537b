package msg

import (
	"math"
	"testing"
)

// TestHiddenMetricsAddUp would catch a host whose number of hidden metrics makes the sum of a vertex negative.
func TestHiddenMetricsAddUp(t *testing.T) {
	t.Parallel()
	for said, want := range map[int]int{-1: 0, 0: 0, 3: 3, math.MaxInt: math.MaxInt32} {
		if got := (&UserMetrics{Dropped: said}).Hidden(); got != want {
			t.Errorf("%d: %d, want %d", said, got, want)
		}
	}
}
