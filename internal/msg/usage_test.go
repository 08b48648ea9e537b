package msg

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestUsageOnlyGrows would catch a sum that falls, and so makes a peak of a rate: when a process is replaced, when it says nothing of
// HDFS for a while, and when a task host says numbers that have no sum.
func TestUsageOnlyGrows(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var sum, last Usage
		number := rapid.OneOf(rapid.Int64Range(0, 10), rapid.Just(int64(math.MaxInt64)))
		for range rapid.IntRange(1, 20).Draw(t, "reports") {
			var p *ProcessMetrics
			var h *HDFSMetrics
			if rapid.Bool().Draw(t, "process") {
				p = &ProcessMetrics{CPUTime: time.Duration(number.Draw(t, "time")), Collections: number.Draw(t, "collections")}
			}
			if rapid.Bool().Draw(t, "HDFS") {
				h = &HDFSMetrics{Read: CallMetrics{Calls: number.Draw(t, "calls")}, Write: CallMetrics{Failures: number.Draw(t, "failures")}}
			}
			before, now := sum, UsageOf(p, h, last)
			sum.Grow(last, now)
			last = now
			earlier := before.numbers()
			for i, n := range sum.numbers() {
				if *n < *earlier[i] {
					t.Fatalf("number %d falls from %d to %d", i, *earlier[i], *n)
				}
			}
			if p != nil && sum.CPUTime < p.CPUTime || h != nil && sum.Read.Calls < h.Read.Calls {
				t.Fatalf("the sum %+v is less than its part %+v, %+v", sum, p, h)
			}
		}
	})
}

// TestUsageIsCountedOnce would catch reports that are added up, although each has all that was used since the start of its process.
func TestUsageIsCountedOnce(t *testing.T) {
	t.Parallel()
	var sum, last Usage
	for _, calls := range []int64{3, 7, 7, 2} { // at last another process
		now := UsageOf(nil, &HDFSMetrics{NameNode: CallMetrics{Calls: calls}}, last)
		sum.Grow(last, now)
		last = now
	}
	if want := (Usage{NameNode: CallCounts{Calls: 9}}); sum != want {
		t.Errorf("%+v, want %+v", sum, want)
	}
	most := ProcessMetrics{HeapUsed: math.MaxInt64, Threads: math.MaxInt}
	most.Add(ProcessMetrics{HeapUsed: 5, Threads: 5, Resident: 5})
	if want := (ProcessMetrics{HeapUsed: math.MaxInt64, Threads: math.MaxInt, Resident: 5}); most != want {
		t.Errorf("%+v, want %+v", most, want)
	}
}
