package jobmaster

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/executiongraph"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// reportUser takes over what a host reports of the metrics of a task's code, if it is the current attempt; nil says nothing.
func (c *core) reportUser(e *executiongraph.Execution, m *msg.UserMetrics) {
	if m != nil && !e.IsBeside() {
		operators := len(c.config.Graph.Vertices[e.ID.Vertex].Operators)
		c.user.Report(e.ID.Vertex, e.ID.Subtask, operators, m)
	}
}

// userMetrics gives the metrics of a task's code, or nil. Nothing happens any more in a task that has ended.
func (c *core) userMetrics(e *executiongraph.Execution) *msg.UserMetrics {
	m := c.user.Of(e.ID.Vertex, e.ID.Subtask)
	if m == nil || !e.State.Final() {
		return m
	}
	last := &msg.UserMetrics{Metrics: slices.Clone(m.Metrics), Dropped: m.Dropped}
	for i := range last.Metrics {
		last.Metrics[i].Rate = 0
	}
	return last
}

// counted gives the counters of each vertex that has any: those of tasks that have finished, and what running ones have
// reported.
func (c *core) counted() map[int]map[string]int64 {
	sums := c.counters.sums()
	for v := range c.config.Graph.Vertices {
		if sum := c.addRunning(sums[v], v); len(sum) > 0 {
			sums[v] = sum
		}
	}
	return sums
}

// countedIn gives the counters of one vertex, as counted.
func (c *core) countedIn(v int) map[string]int64 { return c.addRunning(c.counters.sumsOf(v), v) }

// addRunning adds the counters that the running tasks of a vertex have reported. sum may be nil.
func (c *core) addRunning(sum map[string]int64, v int) map[string]int64 {
	executions := c.graph.Vertex(v)
	for s := range executions {
		if executions[s].State.Final() || c.user.Of(v, s) == nil {
			continue
		}
		if sum == nil {
			sum = make(map[string]int64)
		}
		c.user.AddCounters(v, s, sum)
	}
	return sum
}
