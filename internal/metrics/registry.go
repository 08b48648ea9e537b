package metrics

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// RegistryLimit is the number of metrics that a registry shows.
const RegistryLimit = 10_000

// Registry is a set of metrics that code of this process counts. NewRegistry makes one. It may be
// used from any goroutine. With a nil Registry code can count, but nothing shows it.
type Registry struct {
	now func() time.Time

	mu      sync.Mutex
	metrics []metric       // in the order in which they came; guarded by mu, as the rest
	known   map[string]int // by key: the place in metrics
	refused int            // metrics over the limit
}

// metric is what a Registry has of one metric. One of counter, value, meter and histogram is set.
type metric struct {
	sample    Sample // without its value
	counter   *Counter
	gauge     *Gauge         // set if value is its
	value     func() float64 // of a gauge
	meter     *Meter
	histogram *Histogram
}

// NewRegistry makes an empty registry. Its meters take the time from now.
func NewRegistry(now func() time.Time) *Registry {
	return &Registry{now: now, known: map[string]int{}}
}

// Counter returns the counter of a name, and makes it if there is none.
func (r *Registry) Counter(scope Scope, name string, group ...Label) *Counter {
	return r.metric(scope, name, KindCounter, group, func(m *metric) { m.counter = &Counter{} }).counter
}

// Gauge returns the gauge of a name, and makes it if there is none.
func (r *Registry) Gauge(scope Scope, name string, group ...Label) *Gauge {
	return r.metric(scope, name, KindGauge, group, func(m *metric) {
		if m.gauge == nil {
			m.gauge = &Gauge{}
		}
		m.value = m.gauge.Value
	}).gauge
}

// GaugeFunc shows what value returns. value must be quick, and may be called from any goroutine. It
// takes the place of an earlier one.
func (r *Registry) GaugeFunc(scope Scope, name string, value func() float64, group ...Label) {
	r.metric(scope, name, KindGauge, group, func(m *metric) { m.value = value })
}

// Meter returns the meter of a name, and makes it if there is none.
func (r *Registry) Meter(scope Scope, name string, group ...Label) *Meter {
	return r.metric(scope, name, KindMeter, group, func(m *metric) { m.meter = NewMeter(r.clock()) }).meter
}

// Histogram returns the histogram of a name, and makes it if there is none.
func (r *Registry) Histogram(scope Scope, name string, group ...Label) *Histogram {
	return r.metric(scope, name, KindHistogram, group, func(m *metric) { m.histogram = new(Histogram) }).histogram
}

// metric returns a copy of the metric of a name, after fill has set what counts. A metric over the
// limit works, but the registry does not show it: a caller that makes names from data must not be
// able to fill the memory.
func (r *Registry) metric(scope Scope, name string, kind Kind, group []Label, fill func(*metric)) metric {
	m := metric{sample: Sample{Scope: scope, Name: name, Kind: kind}}
	if len(group) > 0 {
		m.sample.Group = group[0]
	}
	if r == nil {
		fill(&m)
		return m
	}
	key := m.sample.key()
	r.mu.Lock()
	defer r.mu.Unlock()
	if at, known := r.known[key]; known {
		if kind == KindGauge {
			fill(&r.metrics[at])
		}
		return r.metrics[at]
	}
	fill(&m)
	if len(r.metrics) >= RegistryLimit {
		r.refused++
		return m
	}
	r.known[key] = len(r.metrics)
	r.metrics = append(r.metrics, m)
	return m
}

// key is the identity of a sample's metric. No part of it holds a NUL.
func (s Sample) key() string {
	parts := []string{s.Kind.String(), string(s.Scope.Level), s.Name, s.Group.Name, s.Group.Value}
	for _, l := range s.Scope.Labels {
		parts = append(parts, l.Name, l.Value)
	}
	return strings.Join(parts, "\x00")
}

func (r *Registry) clock() time.Time {
	if r == nil {
		return time.Time{}
	}
	return r.now()
}

// Refused returns how many metrics the registry does not show, because it had RegistryLimit.
func (r *Registry) Refused() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused
}

// Samples is a Source of all metrics of the registry. It never fails.
func (r *Registry) Samples(context.Context) ([]Sample, error) {
	if r == nil {
		return nil, nil
	}
	r.mu.Lock()
	metrics := slices.Clone(r.metrics)
	r.mu.Unlock()
	samples := make([]Sample, len(metrics))
	now := r.clock()
	for i, m := range metrics {
		s := &samples[i]
		*s = m.sample
		switch {
		case m.counter != nil:
			s.Value = float64(m.counter.Count())
		case m.meter != nil:
			s.Value = m.meter.PerSecond(now)
		case m.histogram != nil:
			summary := m.histogram.Summary()
			s.Summary = &summary
		default:
			s.Value = m.value()
		}
	}
	return samples, nil
}
