package metrics

import (
	"sync/atomic"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// The SDK has the same types, because users' metrics are shown in the same way as ours.
type (
	// Gauge is a value that may rise and fall.
	Gauge = operator.Gauge
	// Histogram is the distribution of the last values.
	Histogram = operator.Histogram
	// Summary describes a distribution.
	Summary = operator.Summary
)

// Counter is a sum that only grows. Its zero value is 0.
type Counter struct{ n atomic.Int64 }

// Add adds n, which is not negative.
func (c *Counter) Add(n int64) { c.n.Add(n) }

// Inc adds 1.
func (c *Counter) Inc() { c.n.Add(1) }

// Count returns the sum.
func (c *Counter) Count() int64 { return c.n.Load() }
