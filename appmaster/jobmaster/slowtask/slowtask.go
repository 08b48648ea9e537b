// Package slowtask finds tasks that take much longer than the others of their vertex, as Flink's
// ExecutionTimeBasedSlowTaskDetector does.
//
// The baseline is a multiple of the time that the median of the finished tasks took, from their deployment to
// their end. A task that has read more than the median may take longer in proportion. So a task is not slow because
// it has more to do. Flink compares the times for each byte that a task will read; the bytes that it has read say the same of
// tasks that go on, and do not excuse those that are stuck.
//
// The package is pure: plain data, no clock.
package slowtask

import (
	"cmp"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Settings are the options slow-task-detector.*.
type Settings struct {
	Interval   time.Duration // .check-interval
	LowerBound time.Duration // .execution-time.baseline-lower-bound
	Multiplier float64       // .execution-time.baseline-multiplier
	Ratio      float64       // .execution-time.baseline-ratio: the part of a vertex's tasks that must have finished
}

// Configured reads the settings from a configuration.
func Configured(c config.Config) Settings {
	return Settings{
		Interval:   c.Duration(config.SlowTaskInterval),
		LowerBound: c.Duration(config.SlowTaskLowerBound),
		Multiplier: c.Fraction(config.SlowTaskMultiplier),
		Ratio:      c.Fraction(config.SlowTaskRatio),
	}
}

// Enough tells whether enough of the tasks of a vertex have finished for a baseline.
func (s Settings) Enough(finished, all int) bool {
	return finished > 0 && float64(finished) >= s.Ratio*float64(all)
}

// Work is what a task has done.
type Work struct {
	Took time.Duration // since its deployment
	Read int64         // bytes
}

// Baseline is how long a task may take.
type Baseline struct {
	Time time.Duration // of a task that has not read more than the median
	read int64         // the median
}

// Baseline gives the baseline by the finished tasks of a vertex, of which there is at least one.
func (s Settings) Baseline(finished []Work) Baseline {
	took := median(finished, func(w Work) time.Duration { return w.Took })
	return Baseline{
		Time: max(s.LowerBound, time.Duration(s.Multiplier*float64(took))),
		read: median(finished, func(w Work) int64 { return w.Read }),
	}
}

// Slow tells whether a running task is slow.
func (b Baseline) Slow(w Work) bool {
	allowed := float64(b.Time)
	if b.read > 0 {
		allowed *= max(1, float64(w.Read)/float64(b.read))
	}
	return float64(w.Took) >= allowed
}

// median gives the lower one of two in the middle.
func median[T cmp.Ordered](all []Work, of func(Work) T) T {
	values := make([]T, len(all))
	for i, w := range all {
		values[i] = of(w)
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}
