// Package usermetrics holds the last report of each subtask about the metrics of users' code, in a
// bounded memory: msg.JobMetricRoom. Names that several reports have are held once. Metrics without
// room are counted and left out, in the order in which reports come; hosts repeat their reports, so
// they come back when there is room.
//
// The package is pure: plain data for one owner, the JobMaster's core.
package usermetrics

import (
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Table has the metrics of all subtasks of a job. Make it with New.
type Table struct {
	room, bytes int
	names       map[string]*name
	reports     map[key]*msg.UserMetrics // nobody changes a report
}

// key is a subtask of a vertex.
type key struct{ vertex, subtask int }

// name is a text, and the number of metrics that have it as their name.
type name struct {
	text string
	uses int
}

// New makes the table of a job with this number of tasks.
func New(tasks int) *Table {
	return &Table{room: msg.JobMetricRoom(tasks), names: make(map[string]*name), reports: make(map[key]*msg.UserMetrics)}
}

// Report replaces the metrics of a subtask whose vertex has this number of operators. It leaves out what
// is no metric of such a vertex, and what has no room.
func (t *Table) Report(vertex, subtask, operators int, m *msg.UserMetrics) {
	t.Drop(vertex, subtask)
	if t.bytes+msg.ReportBytes > t.room {
		return
	}
	t.bytes += msg.ReportBytes
	var kept []msg.UserMetric
	for _, one := range m.Metrics {
		if one.Valid(operators) && t.take(&one) {
			kept = append(kept, one)
		}
	}
	report := &msg.UserMetrics{Dropped: m.Hidden() + len(m.Metrics) - len(kept)}
	if len(kept) > 0 {
		report.Metrics = make([]msg.UserMetric, len(kept)) // without the room for more that append has made
		copy(report.Metrics, kept)
	}
	t.reports[key{vertex, subtask}] = report
}

// take makes room for a metric, and gives it the shared copy of its name. false: it has no room.
func (t *Table) take(m *msg.UserMetric) bool {
	size := msg.MetricSize(m.Kind)
	known := t.names[m.Name]
	if known == nil {
		size += msg.MetricNameBytes + len(m.Name)
	}
	if t.bytes+size > t.room {
		return false
	}
	t.bytes += size
	if known == nil {
		known = &name{text: m.Name}
		t.names[m.Name] = known
	}
	known.uses++
	m.Name = known.text
	return true
}

// Drop forgets the metrics of a subtask, because another attempt follows.
func (t *Table) Drop(vertex, subtask int) {
	old := t.reports[key{vertex, subtask}]
	if old == nil {
		return
	}
	delete(t.reports, key{vertex, subtask})
	t.bytes -= msg.ReportBytes
	for _, m := range old.Metrics {
		t.bytes -= msg.MetricSize(m.Kind)
		if known := t.names[m.Name]; known.uses > 1 {
			known.uses--
		} else {
			delete(t.names, m.Name)
			t.bytes -= msg.MetricNameBytes + len(m.Name)
		}
	}
}

// Left returns how many bytes of its room the table leaves.
func (t *Table) Left() int { return t.room - t.bytes }

// Of returns the metrics of a subtask, which nobody changes; nil if it has reported none.
func (t *Table) Of(vertex, subtask int) *msg.UserMetrics { return t.reports[key{vertex, subtask}] }

// AddCounters adds the counters of a subtask to sums by name.
func (t *Table) AddCounters(vertex, subtask int, sums map[string]int64) {
	report := t.Of(vertex, subtask)
	if report == nil {
		return
	}
	for _, m := range report.Metrics {
		if m.Kind == metrics.KindCounter {
			sums[m.Name] += int64(m.Value)
		}
	}
}
