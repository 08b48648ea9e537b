package jobmaster

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/executiongraph"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// layout holds values that the JobGraph alone decides and that the core looks up often.
type layout struct {
	graph      *jobgraph.JobGraph
	slots      int      // shared slots
	tasks      []int    // tasks in each shared slot
	producers  [][]int  // vertices that each vertex reads from, ascending
	isProducer []bool   // whether any vertex reads from this one
	results    []string // names of the collected results
}

func newLayout(g *jobgraph.JobGraph) layout {
	l := layout{
		graph:      g,
		slots:      g.Slots(),
		tasks:      make([]int, g.Slots()),
		producers:  make([][]int, len(g.Vertices)),
		isProducer: make([]bool, len(g.Vertices)),
	}
	for v, vertex := range g.Vertices {
		for s := range vertex.Parallelism {
			l.tasks[spread(s, vertex.Parallelism, l.slots)]++
		}
		for _, edge := range g.Inputs(jobgraph.VertexID(v)) {
			l.producers[v] = append(l.producers[v], int(edge.From))
			l.isProducer[edge.From] = true
		}
		slices.Sort(l.producers[v])
		l.producers[v] = slices.Compact(l.producers[v])
		if vertex.Collect != "" {
			l.results = append(l.results, vertex.Collect)
		}
	}
	return l
}

// sharedSlot is the shared slot of an execution.
func (l *layout) sharedSlot(e *executiongraph.Execution) int {
	return spread(e.ID.Subtask, l.graph.Vertices[e.ID.Vertex].Parallelism, l.slots)
}

// spread gives the shared slot of a subtask. The subtasks of a vertex with fewer subtasks than
// slots are spread over the slots, so that they run on different workers. Subtasks i of vertices
// with equal parallelism share a slot.
func spread(subtask, parallelism, slots int) int { return subtask * slots / parallelism }
