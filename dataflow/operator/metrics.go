package operator

import (
	"math"
	"sync/atomic"
)

// Metrics are the metrics of one operator in one attempt of a subtask. Each metric has a name. Two
// operators may use one name, and a name may be used for metrics of several kinds. Look a metric up
// once, not for each element. Any goroutine may use Metrics and the metrics themselves.
//
// The ApplicationMaster has a bounded memory for metrics. One that finds no room there counts as
// any other, but nothing shows it while the task runs.
type Metrics interface {
	// Counter returns this operator's part of the job's counter of this name. The job's counter is
	// the sum over all operators and subtasks.
	Counter(name string) *Counter
	// Gauge returns the gauge of this name: a value that may rise and fall.
	Gauge(name string) *Gauge
	// Meter returns the meter of this name, which knows the rate of events.
	Meter(name string) *Meter
	// Histogram returns the histogram of this name, which knows how values are distributed.
	Histogram(name string) *Histogram
}

// Counter is a part of a job-wide sum. Any goroutine may use it.
type Counter struct{ value atomic.Int64 }

// Add adds n, which may be negative.
func (c *Counter) Add(n int64) { c.value.Add(n) }

// Value returns this part of the sum.
func (c *Counter) Value() int64 { return c.value.Load() }

// Gauge is a value that may rise and fall, such as the length of a queue. Its zero value is 0. Any
// goroutine may use it.
type Gauge struct{ bits atomic.Uint64 }

// Set replaces the value.
func (g *Gauge) Set(v float64) { g.bits.Store(math.Float64bits(v)) }

// Value returns what was set last.
func (g *Gauge) Value() float64 { return math.Float64frombits(g.bits.Load()) }

// Meter counts events. The host of the task makes their rate of it, over the last minute. Any
// goroutine may use it.
type Meter struct{ count atomic.Int64 }

// Mark counts n events.
func (m *Meter) Mark(n int64) { m.count.Add(n) }

// Count returns all events so far.
func (m *Meter) Count() int64 { return m.count.Load() }
