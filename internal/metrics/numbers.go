package metrics

import (
	"iter"
	"math"
	"strconv"
)

// Number is one number of a sample, as REST names it.
type Number struct {
	ID    string
	Value float64
	Whole bool // a count, which REST shows without a fraction
}

// String is the value as Flink's REST shows it.
func (n Number) String() string {
	if n.Whole || (n.Value == math.Trunc(n.Value) && math.Abs(n.Value) < 1<<53) {
		return strconv.FormatFloat(n.Value, 'f', 0, 64)
	}
	return strconv.FormatFloat(n.Value, 'g', -1, 64)
}

// Numbers yields the numbers of a sample: one, or those of its distribution, under the names that
// Flink's MetricStore gives them.
func (s Sample) Numbers() iter.Seq[Number] {
	return func(yield func(Number) bool) {
		id := s.ID()
		if s.Summary == nil {
			yield(Number{ID: id, Value: s.Value, Whole: s.Kind == KindCounter})
			return
		}
		d := s.Summary
		for _, part := range [...]Number{
			{"_count", float64(d.Count), true},
			{"_min", d.Min, false},
			{"_max", d.Max, false},
			{"_mean", d.Mean, false},
			{"_median", d.P50, false},
			{"_stddev", d.StdDev, false},
			{"_p75", d.P75, false},
			{"_p90", d.P90, false},
			{"_p95", d.P95, false},
			{"_p98", d.P98, false},
			{"_p99", d.P99, false},
			{"_p999", d.P999, false},
		} {
			part.ID = id + part.ID
			if !yield(part) {
				return
			}
		}
	}
}

// Total sums up one number of several scopes, for example of all subtasks of a vertex. Its zero
// value has seen none. It ignores what is no number.
type Total struct {
	Min, Max, Sum float64
	values        []float64
}

// Add takes the number of another scope.
func (t *Total) Add(v float64) {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return
	case len(t.values) == 0:
		t.Min, t.Max = v, v
	default:
		t.Min, t.Max = min(t.Min, v), max(t.Max, v)
	}
	t.values = append(t.values, v)
	t.Sum = finite(t.Sum + v)
}

// finite replaces a sum that is too large for a number: JSON has no infinity, and users' code chooses the values.
func finite(v float64) float64 { return max(min(v, math.MaxFloat64), -math.MaxFloat64) }

// N returns how many numbers it has.
func (t *Total) N() int { return len(t.values) }

// Avg returns the mean; 0 of none.
func (t *Total) Avg() float64 { return t.Sum / float64(max(len(t.values), 1)) }

// Skew returns how unequal the numbers are, in percent: the mean distance from the mean, divided by
// it, at most 100; Flink's DoubleDataSkew.
func (t *Total) Skew() float64 {
	avg := t.Avg()
	if avg == 0 {
		return 0
	}
	distance := 0.0
	for _, v := range t.values {
		distance = finite(distance + math.Abs(v-avg))
	}
	return finite(min(distance/float64(len(t.values))/avg*100, 100))
}
