package operator

import (
	"math"
	"slices"
	"sync"
)

// HistogramWindow is the number of values that a histogram's distribution covers.
const HistogramWindow = 1024

// Histogram is the distribution of the last HistogramWindow values, as Flink's
// DescriptiveStatisticsHistogram. Its zero value has none. It takes 8 KiB. Any goroutine may use it.
type Histogram struct {
	mu     sync.Mutex
	window [HistogramWindow]float64 // the last values, as a ring; guarded by mu, as the rest
	count  int64                    // of all values
	sum    float64                  // of all values
}

// Update adds a value. It ignores what is no number.
func (h *Histogram) Update(v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	h.mu.Lock()
	h.window[h.count%HistogramWindow] = v
	h.count++
	h.sum += v
	h.mu.Unlock()
}

// Count returns the number of all values.
func (h *Histogram) Count() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count
}

// Summary describes the values so far.
func (h *Histogram) Summary() Summary {
	h.mu.Lock()
	count, sum := h.count, h.sum
	values := slices.Clone(h.window[:min(count, HistogramWindow)])
	h.mu.Unlock()
	s := summarize(values)
	s.Count, s.Sum = count, sum
	return s
}

// Summary describes a distribution. Count and Sum are of all values, the rest is of the last ones.
type Summary struct {
	Count                              int64
	Sum                                float64
	Min, Max, Mean, StdDev             float64
	P50, P75, P90, P95, P98, P99, P999 float64
}

// summarize describes values, and sorts them. Without values all is 0.
func summarize(values []float64) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	slices.Sort(values)
	n := float64(len(values))
	s := Summary{Count: int64(len(values)), Min: values[0], Max: values[len(values)-1]}
	for _, v := range values {
		s.Sum += v
	}
	s.Mean = s.Sum / n
	if len(values) > 1 {
		var squares float64
		for _, v := range values {
			squares += (v - s.Mean) * (v - s.Mean)
		}
		s.StdDev = math.Sqrt(squares / (n - 1))
	}
	s.P50, s.P75, s.P90 = quantile(values, 0.5), quantile(values, 0.75), quantile(values, 0.9)
	s.P95, s.P98 = quantile(values, 0.95), quantile(values, 0.98)
	s.P99, s.P999 = quantile(values, 0.99), quantile(values, 0.999)
	return s
}

// quantile estimates as Flink does, with commons-math's Percentile of type LEGACY: it interpolates
// at q·(n+1).
func quantile(sorted []float64, q float64) float64 {
	n := len(sorted)
	at := q * float64(n+1)
	below := int(at)
	switch {
	case below < 1:
		return sorted[0]
	case below >= n:
		return sorted[n-1]
	}
	return sorted[below-1] + (at-float64(below))*(sorted[below]-sorted[below-1])
}
