package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
)

var master = metrics.Scope{Level: metrics.JobManager, Labels: []metrics.Label{{Name: metrics.LabelHost, Value: "node1"}}}

func fixed() time.Time { return time.Unix(1000, 0) }

func numbers(samples []metrics.Sample) []string {
	var all []string
	for _, s := range samples {
		for n := range s.Numbers() {
			all = append(all, n.ID+"="+n.String())
		}
	}
	return all
}

// It would catch a second caller whose counts get lost, and a group that hides another one.
func TestRegistryShowsEachMetricOnce(t *testing.T) {
	r := metrics.NewRegistry(fixed)
	read, write := metrics.Label{Name: "call", Value: "read"}, metrics.Label{Name: "call", Value: "write"}
	r.Counter(master, "Hdfs.calls", read).Add(3)
	r.Counter(master, "Hdfs.calls", write).Inc()
	r.Counter(master, "Hdfs.calls", read).Add(4)
	r.Gauge(master, "open").Set(1)
	r.Gauge(master, "open").Set(2.5)
	r.GaugeFunc(master, "load", func() float64 { return 1 })
	r.GaugeFunc(master, "load", func() float64 { return 2 })
	r.Meter(master, "failuresPerSecond").Mark(fixed(), 60)
	samples, err := r.Samples(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"Hdfs.call.read.calls=7", "Hdfs.call.write.calls=1", "open=2.5", "load=2", "failuresPerSecond=0"}
	if diff := cmp.Diff(want, numbers(samples)); diff != "" {
		t.Error(diff)
	}
}

// It would catch a registry whose memory grows with the names that data brings.
func TestRegistryHasALimit(t *testing.T) {
	r := metrics.NewRegistry(fixed)
	for i := range metrics.RegistryLimit + 5 {
		r.Counter(master, fmt.Sprint("c", i)).Inc()
	}
	samples, _ := r.Samples(t.Context())
	if len(samples) != metrics.RegistryLimit || r.Refused() != 5 {
		t.Errorf("%d metrics and %d refused, want %d and 5", len(samples), r.Refused(), metrics.RegistryLimit)
	}
}

// The names are those of Flink's MetricStore. It would catch a client of Flink that finds no number.
func TestNumbersOfAHistogram(t *testing.T) {
	r := metrics.NewRegistry(fixed)
	h := r.Histogram(master, "allocateLatency")
	h.Update(1)
	h.Update(2.25)
	samples, _ := r.Samples(t.Context())
	got := numbers(samples)
	want := []string{
		"allocateLatency_count=2", "allocateLatency_min=1", "allocateLatency_max=2.25", "allocateLatency_mean=1.625", "allocateLatency_median=1.625",
	}
	if diff := cmp.Diff(want, got[:5]); diff != "" || !slices.Contains(got, "allocateLatency_p999=2.25") {
		t.Errorf("%v\n%s", got, diff)
	}
}

// It would catch one source that fails and takes the answers of all others with it.
func TestJoinGivesWhatTheOthersHave(t *testing.T) {
	away := errors.New("away")
	source := metrics.Join(
		func(context.Context) ([]metrics.Sample, error) { return nil, away },
		func(context.Context) ([]metrics.Sample, error) {
			return []metrics.Sample{{Scope: master, Name: "a"}}, nil
		})
	samples, err := source(t.Context())
	if len(samples) != 1 || !errors.Is(err, away) {
		t.Errorf("%v, %v; want one sample, and the error", samples, err)
	}
}

// It would catch an infinite value that makes the sum of all subtasks unusable.
func TestTotalIgnoresWhatIsNoNumber(t *testing.T) {
	var total metrics.Total
	for _, v := range []float64{4, math.NaN(), -2, math.Inf(1)} {
		total.Add(v)
	}
	if total.N() != 2 || total.Min != -2 || total.Max != 4 || total.Sum != 2 || total.Avg() != 1 {
		t.Errorf("%+v with mean %v", total, total.Avg())
	}
}

// It would catch gauges of users' code whose sum is no number any more, and with it an answer that JSON cannot have.
func TestTotalStaysANumber(t *testing.T) {
	for _, sign := range []float64{1, -1} {
		var total metrics.Total
		for _, v := range []float64{1, 1, 1, -1} {
			total.Add(sign * v * math.MaxFloat64)
		}
		for _, v := range []float64{total.Sum, total.Avg(), total.Skew()} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("sum %v, mean %v, skew %v", total.Sum, total.Avg(), total.Skew())
			}
		}
	}
}

// The first value is that of a real Flink 1.20.
func TestSkewAsFlink(t *testing.T) {
	for want, values := range map[float64][]float64{2.9982363315696645: {275, 292}, 0: {0, 0}, 100: {0, 0, 0, 9}} {
		var total metrics.Total
		for _, v := range values {
			total.Add(v)
		}
		if got := total.Skew(); math.Abs(got-want) > 1e-12 {
			t.Errorf("skew of %v: %v, want %v", values, got, want)
		}
	}
}
