package executiongraph

import (
	"iter"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// A takeover asks these questions about regions of which some run and others do not: runs tells which. The answers come in time that
// is proportional to the subtasks, not to their connections.

// between gives the exchanges between components.
func (g *Graph) between() iter.Seq[*exchange] {
	return func(yield func(*exchange) bool) {
		for _, x := range g.exchanges {
			if !x.inner && !yield(x) {
				return
			}
		}
	}
}

// anyOf tells whether a region runs that has a subtask of a vertex.
func (g *Graph) anyOf(vertex jobgraph.VertexID, runs func(region int) bool) bool {
	executions := g.Vertex(int(vertex))
	for i := range executions {
		if runs(executions[i].Region) {
			return true
		}
	}
	return false
}

// Needed gives the regions that must make partitions before regions that run can read them. A region may come several times.
func (g *Graph) Needed(runs func(region int) bool) iter.Seq[int] {
	return func(yield func(int) bool) {
		for x := range g.between() {
			if x.Pattern == jobgraph.AllToAll && !g.anyOf(x.To, runs) {
				continue
			}
			for i := range x.partitions {
				read := x.Pattern == jobgraph.AllToAll || runs(g.executions[g.first[x.To]+i].Region)
				if read && x.partitions[i].state != available && !yield(g.executions[g.first[x.From]+i].Region) {
					return
				}
			}
		}
	}
}

// ReadAnew gives the regions that read from a component of which a region runs that others read which run. A region may come several
// times.
func (g *Graph) ReadAnew(runs func(region int) bool) iter.Seq[int] {
	anew := make(map[jobgraph.VertexID]bool) // components
	for x := range g.between() {
		if x.Pattern == jobgraph.AllToAll {
			anew[g.component[x.From]] = anew[g.component[x.From]] || g.anyOf(x.From, runs) && g.anyOf(x.To, runs)
			continue
		}
		for i := range x.partitions {
			if runs(g.executions[g.first[x.From]+i].Region) && runs(g.executions[g.first[x.To]+i].Region) {
				anew[g.component[x.From]] = true
			}
		}
	}
	return func(yield func(int) bool) {
		for x := range g.between() {
			if !anew[g.component[x.From]] {
				continue
			}
			executions := g.Vertex(int(x.To))
			for i := range executions {
				if !yield(executions[i].Region) {
					return
				}
			}
		}
	}
}
