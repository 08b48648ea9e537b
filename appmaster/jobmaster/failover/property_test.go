package failover

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The models look at all earlier failures again for each failure. The strategies keep only what they need.

// granted is a restart that a model allowed: the time of the failure, and the end of the delay.
type granted struct{ failed, restarts time.Time }

// model decides about a failure from all restarts before it.
type model func(before []granted, now time.Time) (delay time.Duration, again bool)

func models(s Settings) map[string]model {
	return map[string]model{
		None: func([]granted, time.Time) (time.Duration, bool) { return 0, false },
		FixedDelay: func(before []granted, _ time.Time) (time.Duration, bool) {
			return s.FixedDelay.Delay, len(before) < s.FixedDelay.Attempts
		},
		FailureRate: func(before []granted, now time.Time) (time.Duration, bool) {
			recent := 0
			for _, b := range before {
				if !b.failed.Before(now.Add(-s.FailureRate.Interval)) {
					recent++
				}
			}
			return s.FailureRate.Delay, recent < s.FailureRate.MaxFailures
		},
		ExponentialDelay: func(before []granted, now time.Time) (time.Duration, bool) {
			e := s.ExponentialDelay
			delay, used := e.Initial, 0 // of the next restart
			var until time.Time
			for _, b := range append(before, granted{failed: now}) {
				if b.failed.Before(until) {
					continue // merged
				}
				if !until.IsZero() && b.failed.Sub(until) >= e.ResetThreshold {
					delay, used = e.Initial, 0
				}
				if b.restarts.IsZero() {
					return delay, used < e.Attempts
				}
				until, used = b.restarts, used+1
				delay = min(time.Duration(float64(delay)*e.Multiplier), e.Max)
			}
			return until.Sub(now), true
		},
	}
}

// TestStrategiesAgreeWithTheirModels would catch a strategy that forgets a failure too early or too
// late, or that counts a failure twice.
func TestStrategiesAgreeWithTheirModels(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		seconds := func(name string, least, most int) time.Duration {
			return time.Duration(rapid.IntRange(least, most).Draw(t, name)) * time.Second
		}
		initial := seconds("initial", 1, 10)
		s := Settings{
			Type:       rapid.SampledFrom([]string{None, FixedDelay, FailureRate, ExponentialDelay}).Draw(t, "type"),
			FixedDelay: FixedDelaySettings{Attempts: rapid.IntRange(0, 4).Draw(t, "attempts"), Delay: seconds("delay", 0, 5)},
			FailureRate: FailureRateSettings{
				MaxFailures: rapid.IntRange(1, 4).Draw(t, "max failures"), Interval: seconds("interval", 1, 30), Delay: seconds("rate delay", 0, 5),
			},
			ExponentialDelay: ExponentialDelaySettings{
				Initial: initial, Max: initial + seconds("more", 0, 30),
				Multiplier:     rapid.SampledFrom([]float64{1, 1.5, 2, 10}).Draw(t, "multiplier"),
				ResetThreshold: seconds("reset", 0, 60), Attempts: rapid.IntRange(0, 6).Draw(t, "attempts before reset"),
			},
		}
		strategy, naive := New(s, 1), models(s)[s.Type]
		now := start
		var before []granted
		for range rapid.IntRange(1, 40).Draw(t, "failures") {
			now = now.Add(rapid.SampledFrom([]time.Duration{0, time.Second, 5 * time.Second, 20 * time.Second, time.Minute}).Draw(t, "pause"))
			delay, again := strategy.Restart(now)
			wantDelay, want := naive(before, now)
			if again != want || again && delay != wantDelay {
				t.Fatalf("%s after %v at %s: got %s, %t, want %s, %t", s.Type, before, now, delay, again, wantDelay, want)
			}
			if !again {
				return // the job has failed
			}
			before = append(before, granted{now, now.Add(delay)})
		}
	})
}
