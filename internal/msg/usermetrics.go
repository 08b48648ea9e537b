package msg

import (
	"math"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
)

// UserMetrics are the metrics that a task's code has made, with their values at one time.
type UserMetrics struct {
	_       struct{}     `cbor:",toarray"`
	Metrics []UserMetric // in the order in which the code made them
	Dropped int          // further metrics, which have no room
}

// Hidden is Dropped as far as it can be true: a host runs the user's code, and sums of what hosts say must be numbers.
func (m *UserMetrics) Hidden() int { return min(max(m.Dropped, 0), math.MaxInt32) }

// UserMetric is a metric of one operator of a task.
type UserMetric struct {
	_        struct{} `cbor:",toarray"`
	Operator int      // its index in jobgraph.Vertex.Operators
	Kind     metrics.Kind
	Name     string
	Value    float64          // of a counter, a gauge, or the count of a meter
	Rate     float64          // of a meter, in a second
	Summary  *metrics.Summary // of a histogram; nobody changes it
}

// Count returns the count of a counter or a meter, and the name under which users see it; false: the metric has none. A host runs the
// user's code, and may report what is no number: that counts as 0, because it would spoil a sum.
func (m *UserMetric) Count() (name string, value float64, is bool) {
	if value = m.Value; math.IsNaN(value) || math.IsInf(value, 0) {
		value = 0
	}
	switch m.Kind {
	case metrics.KindCounter:
		return m.Name, value, true
	case metrics.KindMeter:
		return m.Name + "Count", value, true
	case metrics.KindGauge, metrics.KindHistogram:
	}
	return "", 0, false
}

// Series is how many series the metric has in the text for Prometheus. A meter also has its count.
func (m *UserMetric) Series() int {
	n := metrics.SeriesOf(m.Summary)
	if m.Kind == metrics.KindMeter {
		n++
	}
	return n
}

// MaxMetricName bounds the name of a user's metric, in bytes.
const MaxMetricName = 255

// Memory that a JobMaster keeps for users' metrics, in bytes.
const (
	// TaskMetricBytes is the room for metrics that each task adds: for two histograms and a counter whose names other tasks
	// have, too. It is a part of the memory that the Dispatcher reserves for the task.
	TaskMetricBytes = 512
	// ReportBytes is the memory of a task that has metrics, without them.
	ReportBytes = 96
	// metricBytes is the memory of a metric of a task, SummaryBytes what a histogram adds.
	metricBytes, summaryBytes = 64, 112
	// MetricNameBytes is the memory of a name, without its text. The tasks of a job share it.
	MetricNameBytes = 112
	// maxTaskMetrics bounds the metrics of one task.
	maxTaskMetrics = 64 << 10
	// uneven is how many times its share of the room a task may take, because not all tasks have as many metrics.
	uneven = 8
)

// JobMetricRoom is the room for users' metrics in a job with this number of tasks.
func JobMetricRoom(tasks int) int { return MaxJobMetrics + tasks*TaskMetricBytes }

// TaskMetricRoom is the part of that room that one task may take. It also bounds what all hosts of a large job send, and most
// of which the JobMaster would drop.
func TaskMetricRoom(tasks int) int {
	return min(uneven*(JobMetricRoom(tasks)/max(tasks, 1)), maxTaskMetrics)
}

// MetricSize is the memory of a user's metric of one task, without its name.
func MetricSize(kind metrics.Kind) int {
	if kind == metrics.KindHistogram {
		return metricBytes + summaryBytes
	}
	return metricBytes
}

// Valid reports whether a metric is one that a host sends about a vertex with this number of operators.
func (m *UserMetric) Valid(operators int) bool {
	if m.Operator < 0 || m.Operator >= operators || m.Name == "" || len(m.Name) > MaxMetricName {
		return false
	}
	switch m.Kind {
	case metrics.KindCounter, metrics.KindGauge, metrics.KindMeter:
		return m.Summary == nil
	case metrics.KindHistogram:
		return m.Summary != nil
	}
	return false
}

// Equal reports whether two reports say the same; nil says nothing.
func (m *UserMetrics) Equal(other *UserMetrics) bool {
	if m == nil || other == nil {
		return m == other
	}
	return m.Dropped == other.Dropped && slices.EqualFunc(m.Metrics, other.Metrics, func(a, b UserMetric) bool {
		if a.Summary != nil && b.Summary != nil && *a.Summary == *b.Summary {
			a.Summary = b.Summary
		}
		return a == b
	})
}

const (
	// wireMetric is the most that a user's metric takes in a message without its name, in bytes; wireSummary what a histogram
	// adds, wireReport a list of them.
	wireMetric, wireSummary, wireReport = 48, 180, 20
	// MaxProgressMetrics bounds the users' metrics in one TasksProgress, in bytes: see WireSize.
	MaxProgressMetrics = 1 << 20
)

// WireSize estimates the most that the metrics take in a message, in bytes. Those of one task take no more than TaskMetricRoom.
func (m *UserMetrics) WireSize() int {
	if m == nil {
		return 0
	}
	size := wireReport
	for _, one := range m.Metrics {
		size += wireMetric + len(one.Name)
		if one.Summary != nil {
			size += wireSummary
		}
	}
	return size
}
