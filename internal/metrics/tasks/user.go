package tasks

import (
	"slices"
	"strconv"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// AppendUser appends the samples of the metrics of users' code in a subtask, each in the scope of its operator.
// scope is that of the subtask, operators are the names of the operators of its vertex, and m may be nil.
//
// A meter has a second sample with its count. The last sample is of the subtask: numMetricsDropped.
func AppendUser(samples []metrics.Sample, scope metrics.Scope, operators []string, m *msg.UserMetrics) []metrics.Sample {
	if m == nil {
		m = &msg.UserMetrics{}
	}
	scopes := make([]metrics.Scope, len(operators))
	for _, one := range m.Metrics {
		if one.Operator >= len(operators) { // a job that has ended
			continue
		}
		of := &scopes[one.Operator]
		if of.Labels == nil {
			*of = operatorScope(scope, one.Operator, operators[one.Operator])
		}
		s := metrics.Sample{Scope: *of, Name: one.Name, Kind: one.Kind, Value: one.Value, Summary: one.Summary}
		if one.Kind == metrics.KindMeter {
			s.Value = one.Rate
			count := metrics.Sample{Scope: *of, Name: one.Name + "Count", Kind: metrics.KindCounter, Value: one.Value}
			samples = append(samples, count)
		}
		samples = append(samples, s)
	}
	return append(samples, metrics.Sample{Scope: scope, Name: "numMetricsDropped", Kind: metrics.KindGauge, Value: float64(m.Dropped)})
}

// operatorScope is the scope of an operator of a subtask. Operators of a vertex may have the same name.
func operatorScope(task metrics.Scope, index int, name string) metrics.Scope {
	return metrics.Scope{Level: metrics.Operator, Labels: append(slices.Clip(task.Labels),
		metrics.Label{Name: metrics.LabelOperatorID, Value: strconv.Itoa(index)},
		metrics.Label{Name: metrics.LabelOperatorName, Value: name},
	)}
}
