package tasks_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/metrics/tasks"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// TestUserSamples would catch metrics of two operators of one name that are taken for each other, labels of one operator that
// overwrite those of another, and a meter that shows its count as its rate.
func TestUserSamples(t *testing.T) {
	t.Parallel()
	labels := append(make([]metrics.Label, 0, 9), metrics.Label{Name: metrics.LabelSubtaskIndex, Value: "3"})
	task := metrics.Scope{Level: metrics.Task, Labels: labels}
	operator := func(id, name string) metrics.Scope {
		return metrics.Scope{Level: metrics.Operator, Labels: []metrics.Label{
			labels[0], {Name: metrics.LabelOperatorID, Value: id}, {Name: metrics.LabelOperatorName, Value: name},
		}}
	}
	summary := &metrics.Summary{Count: 7}
	got := tasks.AppendUser(nil, task, []string{"map", "map"}, &msg.UserMetrics{Dropped: 2, Metrics: []msg.UserMetric{
		{Operator: 0, Kind: metrics.KindCounter, Name: "n", Value: 1},
		{Operator: 1, Kind: metrics.KindCounter, Name: "n", Value: 2},
		{Operator: 0, Kind: metrics.KindMeter, Name: "lines", Value: 60, Rate: 1},
		{Operator: 1, Kind: metrics.KindHistogram, Name: "length", Summary: summary},
		{Operator: 0, Kind: metrics.KindGauge, Name: "depth", Value: -4},
		{Operator: 2, Kind: metrics.KindGauge, Name: "of no operator"},
	}})
	want := []metrics.Sample{
		{Scope: operator("0", "map"), Name: "n", Kind: metrics.KindCounter, Value: 1},
		{Scope: operator("1", "map"), Name: "n", Kind: metrics.KindCounter, Value: 2},
		{Scope: operator("0", "map"), Name: "linesCount", Kind: metrics.KindCounter, Value: 60},
		{Scope: operator("0", "map"), Name: "lines", Kind: metrics.KindMeter, Value: 1},
		{Scope: operator("1", "map"), Name: "length", Kind: metrics.KindHistogram, Summary: summary},
		{Scope: operator("0", "map"), Name: "depth", Kind: metrics.KindGauge, Value: -4},
		{Scope: task, Name: "numMetricsDropped", Kind: metrics.KindGauge, Value: 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("samples (-want +got):\n%s", diff)
	}
}
