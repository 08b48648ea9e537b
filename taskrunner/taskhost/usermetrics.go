package taskhost

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// maxHidden bounds the metrics of a task that exist but are not shown. A histogram takes 8 KiB.
const maxHidden = 1000

// rooms bound the metrics of one task, in bytes.
type rooms struct {
	counters int // msg.TaskCounterRoom of the job
	shown    int // msg.TaskMetricRoom of the job
}

// userMetrics are the metrics that a task's code makes. The code counts in any goroutine, and the
// host measures meanwhile.
type userMetrics struct {
	rooms rooms
	fail  func(cause error)               // ends the task's context
	drop  func(operator int, name string) // notes a metric that is not shown

	mu       sync.Mutex // guards what follows
	known    map[metricKey]*userMetric
	shown    []*userMetric // in the order in which they came
	size     int           // of those, in bytes
	dropped  int           // metrics that are not shown
	counters map[string]bool
	counted  int   // size of the counters, in bytes
	excess   error // why the task fails though its code may return no error
}

// metricKey names a metric of a task.
type metricKey struct {
	operator int
	kind     metrics.Kind
	name     string
}

// userMetric is one metric. One of counter, gauge, meter and histogram is set.
type userMetric struct {
	metricKey
	counter   *operator.Counter
	gauge     *operator.Gauge
	meter     *operator.Meter
	rate      *metrics.Rate // of meter
	histogram *operator.Histogram
	summary   *metrics.Summary // the last one of histogram, or nil
}

func newUserMetrics(r rooms, fail func(error), drop func(operator int, name string)) *userMetrics {
	return &userMetrics{rooms: r, fail: fail, drop: drop, known: make(map[metricKey]*userMetric), counters: make(map[string]bool)}
}

// operatorMetrics implements operator.Metrics for one operator.
type operatorMetrics struct {
	*userMetrics
	operator int
}

var _ operator.Metrics = operatorMetrics{}

// Counter fails the task if the JobMaster has no room for its counters. The counters that have no
// room are not kept.
func (o operatorMetrics) Counter(name string) *operator.Counter {
	return o.metric(o.operator, metrics.KindCounter, name).counter
}

func (o operatorMetrics) Gauge(name string) *operator.Gauge {
	return o.metric(o.operator, metrics.KindGauge, name).gauge
}

func (o operatorMetrics) Meter(name string) *operator.Meter {
	return o.metric(o.operator, metrics.KindMeter, name).meter
}

func (o operatorMetrics) Histogram(name string) *operator.Histogram {
	return o.metric(o.operator, metrics.KindHistogram, name).histogram
}

// metric returns a metric, and makes it if there is none.
func (u *userMetrics) metric(op int, kind metrics.Kind, name string) *userMetric {
	key := metricKey{op, kind, strings.ToValidUTF8(name, "\uFFFD")} // messages have no other text
	u.mu.Lock()
	defer u.mu.Unlock()
	if m := u.known[key]; m != nil {
		return m
	}
	m := newUserMetric(key)
	if kind == metrics.KindCounter && !u.mayCount(key.name) {
		return m
	}
	size := msg.MetricSize(kind) + msg.MetricNameBytes + len(key.name)
	switch {
	case key.name != "" && len(key.name) <= msg.MaxMetricName && u.size+size <= u.rooms.shown:
		u.size += size
		u.shown = append(u.shown, m)
	case u.dropped < maxHidden:
		u.dropped++
		u.drop(op, key.name)
	case kind != metrics.KindCounter: // counters have a bound of their own
		return m
	}
	u.known[key] = m
	return m
}

func newUserMetric(key metricKey) *userMetric {
	m := &userMetric{metricKey: key}
	switch key.kind {
	case metrics.KindCounter:
		m.counter = new(operator.Counter)
	case metrics.KindGauge:
		m.gauge = new(operator.Gauge)
	case metrics.KindMeter:
		m.meter, m.rate = new(operator.Meter), new(metrics.Rate)
	case metrics.KindHistogram:
		m.histogram = new(operator.Histogram)
	}
	return m
}

// mayCount reports whether the job has room for a counter of this name. If not, the task fails.
func (u *userMetrics) mayCount(name string) bool {
	switch {
	case u.excess != nil:
		return false
	case u.counters[name]:
		return true
	}
	u.counted += msg.CounterSize(name)
	if u.counted > u.rooms.counters {
		u.excess = operator.Permanent(fmt.Errorf("task has more than %d counters, and a task of this job may have %d KiB of counters with their names; %s",
			len(u.counters), u.rooms.counters>>10, msg.FewerCounters))
		u.fail(u.excess)
		return false
	}
	u.counters[name] = true
	return true
}

// exceeded says why the task fails although its code may return no error, or gives nil.
func (u *userMetrics) exceeded() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.excess
}

// counts gives the task's part of the job's counters: the sums over its operators.
func (u *userMetrics) counts() map[string]int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	counts := make(map[string]int64, len(u.counters))
	for key, m := range u.known {
		if key.kind == metrics.KindCounter {
			counts[key.name] += m.counter.Value()
		}
	}
	return counts
}

// measured gives the metrics that are shown; nil if the code has made none.
func (u *userMetrics) measured(now time.Time) *msg.UserMetrics {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.known) == 0 {
		return nil
	}
	all := &msg.UserMetrics{Metrics: make([]msg.UserMetric, len(u.shown)), Dropped: u.dropped}
	for i, m := range u.shown {
		all.Metrics[i] = m.measured(now)
	}
	return all
}

func (m *userMetric) measured(now time.Time) msg.UserMetric {
	v := msg.UserMetric{Operator: m.operator, Kind: m.kind, Name: m.name}
	switch m.kind {
	case metrics.KindCounter:
		v.Value = float64(m.counter.Value())
	case metrics.KindGauge:
		v.Value = m.gauge.Value()
	case metrics.KindMeter:
		count := m.meter.Count()
		m.rate.Update(now, count)
		v.Value, v.Rate = float64(count), m.rate.PerSecond(now)
	case metrics.KindHistogram:
		// A summary sorts the values. It is only made if there are others.
		if m.summary == nil || m.summary.Count != m.histogram.Count() {
			summary := m.histogram.Summary()
			m.summary = &summary
		}
		v.Summary = m.summary
	}
	return v
}
