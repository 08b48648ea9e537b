package jobmaster

import (
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/executiongraph"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// layout holds values that the JobGraph alone decides and that the core looks up often.
//
// The shared slots of a slot sharing group follow those of the group before it.
type layout struct {
	graph      *jobgraph.JobGraph
	first      []int                 // the first shared slot of each group
	slots      []int                 // shared slots of each group
	profiles   []msg.ResourceProfile // the different ones of the groups: the kinds of the pool
	kinds      []int                 // of each shared slot
	producers  [][]int               // vertices that each vertex reads from, ascending
	isProducer []bool                // whether any vertex reads from this one over a pipelined edge
	results    []string              // names of the collected results
	parts      []int                 // of each vertex: the first one of those that edges and co-locations connect
	commits    map[int]bool          // parts with an output to commit
}

func newLayout(g *jobgraph.JobGraph) layout {
	l := layout{
		graph:      g,
		slots:      g.GroupSlots(),
		producers:  make([][]int, len(g.Vertices)),
		isProducer: make([]bool, len(g.Vertices)),
	}
	l.findParts()
	var kinds []int // of the groups
	l.profiles, kinds = msg.Profiles(g)
	for group, slots := range l.slots {
		l.first = append(l.first, len(l.kinds))
		l.kinds = append(l.kinds, slices.Repeat(kinds[group:group+1], slots)...)
	}
	for v, vertex := range g.Vertices {
		for _, edge := range g.Inputs(jobgraph.VertexID(v)) {
			l.producers[v] = append(l.producers[v], int(edge.From))
			l.isProducer[edge.From] = l.isProducer[edge.From] || edge.Kind == jobgraph.Pipelined
		}
		slices.Sort(l.producers[v])
		l.producers[v] = slices.Compact(l.producers[v])
		if vertex.Collect != "" {
			l.results = append(l.results, vertex.Collect)
		}
	}
	return l
}

// findParts finds the parts of the graph.
func (l *layout) findParts() {
	pipelined := *l.graph
	pipelined.Edges = slices.Clone(pipelined.Edges)
	for i := range pipelined.Edges {
		pipelined.Edges[i].Kind = jobgraph.Pipelined
	}
	components, _ := pipelined.Components()
	l.commits = make(map[int]bool)
	for v, part := range components {
		l.parts = append(l.parts, int(part))
		if l.graph.Vertices[v].Commit {
			l.commits[int(part)] = true
		}
	}
}

// sharedSlot is the shared slot of an execution.
func (l *layout) sharedSlot(e *executiongraph.Execution) int {
	return l.shared(e.ID.Vertex, e.ID.Subtask)
}

// shared is the shared slot of a subtask. The subtasks of a vertex with fewer subtasks than its
// group has slots are spread over these slots, so that they run on different workers. Subtasks i of
// vertices of one group with equal parallelism share a slot; co-location relies on this.
func (l *layout) shared(vertex, subtask int) int {
	v := &l.graph.Vertices[vertex]
	return l.first[v.Group] + subtask*l.slots[v.Group]/v.Parallelism
}

// groupsOf names the slot sharing groups of a profile, for users.
func (l *layout) groupsOf(p msg.ResourceProfile) string {
	var names []string
	for _, group := range l.graph.SlotGroups() {
		if msg.ProfileOf(group.Resources) == p {
			names = append(names, group.Name)
		}
	}
	return strings.Join(names, ", ")
}
