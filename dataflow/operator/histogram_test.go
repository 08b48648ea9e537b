package operator

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// It would catch a ring that keeps values of before, or drops some too early.
func TestHistogramIsOfTheLastValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var histogram Histogram
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		var all []float64
		var sum float64
		for range rapid.IntRange(0, 5*HistogramWindow/2).Draw(t, "values") {
			v := float64(r.IntN(100) - 50)
			histogram.Update(v)
			all = append(all, v)
			sum += v
		}
		want := summarize(slices.Clone(all[max(0, len(all)-HistogramWindow):]))
		want.Count, want.Sum = int64(len(all)), sum
		if got := histogram.Summary(); got != want || histogram.Count() != want.Count {
			t.Fatalf("%+v\nwant %+v", got, want)
		}
	})
}

// The expected values are those of commons-math3's DescriptiveStatistics, which Flink uses. It would
// catch another way to interpolate.
func TestSummariesAsFlink(t *testing.T) {
	var histogram Histogram
	for i := range 100 {
		histogram.Update(float64(100 - i)) // 100 … 1
	}
	got := histogram.Summary()
	want := Summary{
		Count: 100, Sum: 5050, Min: 1, Max: 100, Mean: 50.5, StdDev: 29.011491975882016,
		P50: 50.5, P75: 75.75, P90: 90.9, P95: 95.95, P98: 98.98, P99: 99.99, P999: 100,
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
	if got.Count != want.Count || !near(got.Sum, want.Sum) || !near(got.Min, want.Min) || !near(got.Max, want.Max) || !near(got.Mean, want.Mean) ||
		!near(got.StdDev, want.StdDev) || !near(got.P50, want.P50) || !near(got.P75, want.P75) || !near(got.P90, want.P90) ||
		!near(got.P95, want.P95) || !near(got.P98, want.P98) || !near(got.P99, want.P99) || !near(got.P999, want.P999) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	if got := new(Histogram).Summary(); got != (Summary{}) {
		t.Errorf("of no values: %+v", got)
	}
}

// It would catch one value that makes every mean NaN, which JSON cannot hold.
func TestHistogramIgnoresWhatIsNoNumber(t *testing.T) {
	var histogram Histogram
	for _, v := range []float64{math.NaN(), math.Inf(1), 3, math.Inf(-1)} {
		histogram.Update(v)
	}
	if got := histogram.Summary(); got.Count != 1 || got.Mean != 3 {
		t.Errorf("%+v, want one value, 3", got)
	}
}

// It would catch a metric that allocates for each element.
func TestMetricsDoNotAllocate(t *testing.T) {
	var counter Counter
	var gauge Gauge
	var meter Meter
	var histogram Histogram
	if n := testing.AllocsPerRun(1000, func() {
		counter.Add(1)
		gauge.Set(1)
		meter.Mark(1)
		histogram.Update(1)
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkMark(b *testing.B) {
	b.ReportAllocs()
	var meter Meter
	for b.Loop() {
		meter.Mark(1)
	}
}

func BenchmarkUpdate(b *testing.B) {
	b.ReportAllocs()
	var histogram Histogram
	for b.Loop() {
		histogram.Update(1)
	}
}

func BenchmarkSummary(b *testing.B) {
	var histogram Histogram
	for range HistogramWindow {
		histogram.Update(rand.Float64())
	}
	b.ReportAllocs()
	for b.Loop() {
		_ = histogram.Summary()
	}
}
