package taskexecutor

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/metrics"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Bounds of what this worker keeps of the metrics of users' code: some 2 MB in all.
const (
	mostCounts     = 1000 // sums, of all hosts
	mostTaskCounts = 100  // metrics of a task
)

// MeasuredCount is what the code of an operator has counted in the measured tasks of a host, all together. Tasks that have ended
// count too: it does not fall while the host lives. Only the JobMaster knows the name of the operator.
type MeasuredCount struct {
	Job      ids.JobID
	JobName  string
	Vertex   string // its id in REST
	Operator int    // its place in the vertex
	Name     string
	Value    float64
}

// countKey tells apart the sums of a host.
type countKey struct {
	vertex, operator int
	kind             metrics.Kind
	name             string // in the user's code
}

// countSum is the sum of a counter over tasks.
type countSum struct {
	name  string // for users
	value float64
}

// toldCount is a metric of a task, as the host has told it last.
type toldCount struct {
	of   *countSum // nil: it is no count, or has no room
	last float64
}

// count adds to the sums what the code of a task has counted since its last report. A host reports the metrics of a task always in
// the same order: only new ones are looked up.
func (t *tasks) count(one *task, vertex int, m *msg.UserMetrics) {
	one.dropped = m.Hidden()
	for i, metric := range m.Metrics {
		name, value, counts := metric.Count()
		counts = counts && metric.Valid(math.MaxInt)
		if i == len(one.told) && i < mostTaskCounts {
			told := toldCount{}
			if counts {
				told.of = t.sumOf(countKey{vertex, metric.Operator, metric.Kind, metric.Name}, name)
			}
			one.told = append(one.told, told)
		}
		if !counts {
			continue
		}
		if i >= len(one.told) || one.told[i].of == nil {
			one.dropped++
			continue
		}
		if told := &one.told[i]; value > told.last {
			told.of.value += value - told.last
			told.last = value
		}
	}
}

// sumOf returns a sum; nil: there is no room for another one.
func (t *tasks) sumOf(key countKey, name string) *countSum {
	if sum := t.sums[key]; sum != nil {
		return sum
	}
	if t.room.sums.Add(1) > mostCounts {
		t.room.sums.Add(-1)
		return nil
	}
	sum := &countSum{name: name}
	t.sums[key] = sum
	return sum
}

// forgetSums gives back the room of the sums.
func (t *tasks) forgetSums() {
	if t.room != nil {
		t.room.sums.Add(-int64(len(t.sums)))
	}
	t.sums = nil
}

// counts describes the sums, in the order of their vertices and operators.
func (t *tasks) counts() []MeasuredCount {
	if t.job == nil {
		return nil
	}
	order := func(a, b countKey) int {
		return cmp.Or(cmp.Compare(a.vertex, b.vertex), cmp.Compare(a.operator, b.operator), cmp.Compare(a.name, b.name), cmp.Compare(a.kind, b.kind))
	}
	graph := jobgraph.JobGraph{Digest: t.job.Digest}
	all := make([]MeasuredCount, 0, len(t.sums))
	for _, key := range slices.SortedFunc(maps.Keys(t.sums), order) {
		sum := t.sums[key]
		all = append(all, MeasuredCount{
			Job: t.job.ID, JobName: t.job.Name, Vertex: graph.PublicID(jobgraph.VertexID(key.vertex)), Operator: key.operator, Name: sum.name, Value: sum.value,
		})
	}
	return all
}

// Counts returns what users' code has counted in the tasks of this worker, up to 1,000 sums, if Config.MetricsPort is set. It may be
// called at any time.
func (t *TaskExecutor) Counts() (all []MeasuredCount) {
	s := t.shell.Load()
	if s == nil {
		return nil
	}
	for _, h := range s.hostsByJob() {
		h.mu.Lock()
		all = append(all, h.tasks.counts()...)
		h.mu.Unlock()
	}
	return all
}
