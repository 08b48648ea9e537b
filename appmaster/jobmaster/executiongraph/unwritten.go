package executiongraph

import "github.com/bobbin-yarn/bobbin/dataflow/jobgraph"

// Unwritten counts the executions of a blocking edge's producer that have partitions still to write, or to write again, for subtasks
// of its consumer. waits tells which of these subtasks wait for partitions. An edge within a region has none.
func (g *Graph) Unwritten(edge jobgraph.Edge, waits func(*Execution) bool) (n int) {
	for _, x := range g.inputs[edge.To] {
		if x.From != edge.From || x.Output != edge.Output || x.inner {
			continue
		}
		consumers := g.Vertex(int(edge.To))
		for subtask := range consumers {
			switch {
			case !waits(&consumers[subtask]):
			case x.Pattern == jobgraph.AllToAll:
				return len(x.partitions) - x.available
			case x.partitions[subtask].state != available:
				n++
			}
		}
	}
	return n
}
