package metrics_test

import (
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
)

// naiveRate keeps all it has seen, and looks at the two bounds of the last whole minute of steps.
type naiveRate struct {
	start  time.Time
	events []event
}

type event struct {
	at time.Time
	n  int64
}

func (r naiveRate) perSecond(now time.Time) float64 {
	end := r.start.Add(now.Sub(r.start).Truncate(metrics.RateInterval))
	var n int64
	for _, e := range r.events {
		if e.at.Before(end) && !e.at.Before(end.Add(-metrics.RateSpan)) {
			n += e.n
		}
	}
	return float64(n) / metrics.RateSpan.Seconds()
}

// It would catch a rate that forgets a step without events, or counts one twice after the ring of
// steps has wrapped.
func TestRateIsThatOfTheLastMinute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := time.Unix(1000, 0)
		now := start
		naive := naiveRate{start: start}
		meter := metrics.NewMeter(start)
		var rate metrics.Rate
		rate.Update(start, 0)
		var count int64
		for range rapid.IntRange(1, 60).Draw(t, "events") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40_000).Draw(t, "after ms")) * time.Millisecond)
			n := rapid.Int64Range(0, 1000).Draw(t, "n")
			count += n
			naive.events = append(naive.events, event{now, n})
			meter.Mark(now, n)
			rate.Update(now, count)
			want := naive.perSecond(now)
			if got := rate.PerSecond(now); got != want {
				t.Fatalf("Rate after %v: %v, want %v", now.Sub(start), got, want)
			}
			if rapid.Bool().Draw(t, "look") { // a meter works without anybody that looks
				if got := meter.PerSecond(now); got != want {
					t.Fatalf("Meter after %v: %v, want %v", now.Sub(start), got, want)
				}
			}
		}
		if meter.Count() != count {
			t.Fatalf("Meter counted %d, want %d", meter.Count(), count)
		}
	})
}

// It would catch a rate that goes wrong, or a ring that is read out of bounds, when the clock was set
// back.
func TestRateWhenTheClockGoesBack(t *testing.T) {
	start := time.Unix(1000, 0)
	var rate metrics.Rate
	rate.Update(start.Add(time.Minute), 600)
	rate.Update(start, 600)
	rate.Update(start.Add(2*time.Minute), 1200)
	if got := rate.PerSecond(start.Add(2*time.Minute + metrics.RateInterval)); got != 10 {
		t.Errorf("rate %v, want 10", got)
	}
}

// It would catch a data race, or events that are lost when a step ends.
func TestMeterFromManyGoroutines(t *testing.T) {
	start := time.Unix(1000, 0)
	meter := metrics.NewMeter(start)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range 3000 {
				meter.Mark(start.Add(time.Duration(i)*10*time.Millisecond), 1)
				if i%100 == 0 {
					meter.PerSecond(start.Add(time.Duration(i) * 10 * time.Millisecond))
				}
			}
		})
	}
	all.Wait()
	if got := meter.PerSecond(start.Add(35 * time.Second)); meter.Count() != 12_000 || got != 200 {
		t.Errorf("counted %d with %v per second, want 12000 with 200", meter.Count(), got)
	}
}

// It would catch an allocation where code counts.
func TestCountingAllocatesNothing(t *testing.T) {
	now := time.Unix(1000, 0)
	var counter metrics.Counter
	meter := metrics.NewMeter(now)
	if n := testing.AllocsPerRun(1000, func() {
		now = now.Add(time.Second)
		counter.Inc()
		meter.Mark(now, 1)
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
