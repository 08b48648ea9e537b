package dataflowtest

import (
	"sync"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// Metrics are the metrics of the operators of the last run; see Options.Metrics. All subtasks of an
// operator share them: a histogram has the values of all, and a gauge what one of them has set last.
// The zero value has none. Any goroutine may use it.
type Metrics struct {
	mu        sync.Mutex // guards operators
	operators map[string]*operatorMetrics
}

// Operator returns the metrics of the operator of this name (option Named). Operators of the same
// name share them. A metric that the operator does not have is 0.
func (m *Metrics) Operator(name string) operator.Metrics { return m.operator(name) }

func (m *Metrics) operator(name string) *operatorMetrics {
	return lookup(&m.mu, &m.operators, name)
}

// clear drops the metrics of an earlier run.
func (m *Metrics) clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.operators = nil
}

// sums returns the job's counters.
func (m *Metrics) sums() map[string]int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	sums := map[string]int64{}
	for _, o := range m.operators {
		o.mu.Lock()
		for name, counter := range o.counters {
			sums[name] += counter.Value()
		}
		o.mu.Unlock()
	}
	return sums
}

// operatorMetrics implements operator.Metrics.
type operatorMetrics struct {
	mu         sync.Mutex // guards the maps
	counters   map[string]*operator.Counter
	gauges     map[string]*operator.Gauge
	meters     map[string]*operator.Meter
	histograms map[string]*operator.Histogram
}

func (o *operatorMetrics) Counter(name string) *operator.Counter {
	return lookup(&o.mu, &o.counters, name)
}

func (o *operatorMetrics) Gauge(name string) *operator.Gauge {
	return lookup(&o.mu, &o.gauges, name)
}

func (o *operatorMetrics) Meter(name string) *operator.Meter {
	return lookup(&o.mu, &o.meters, name)
}

func (o *operatorMetrics) Histogram(name string) *operator.Histogram {
	return lookup(&o.mu, &o.histograms, name)
}

// lookup returns the value of a name, and makes it if there is none.
func lookup[T any](mu *sync.Mutex, all *map[string]*T, name string) *T {
	mu.Lock()
	defer mu.Unlock()
	if *all == nil {
		*all = map[string]*T{}
	}
	if (*all)[name] == nil {
		(*all)[name] = new(T)
	}
	return (*all)[name]
}
