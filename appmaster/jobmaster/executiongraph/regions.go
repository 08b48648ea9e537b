package executiongraph

import (
	"iter"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// A pipelined region is a set of executions that must run at the same time, because they read each
// other's output, or in the same slots. It is deployed as a whole. If one of its executions fails,
// the whole region restarts. Only blocking edges lead from one region to another.

// Regions is the number of pipelined regions. They are numbered by their first
// execution.
func (g *Graph) Regions() int { return len(g.regions) }

// Region gives the executions of a region, by vertex and subtask.
func (g *Graph) Region(r int) iter.Seq[*Execution] {
	return func(yield func(*Execution) bool) {
		for _, i := range g.regions[r].members {
			if !yield(&g.executions[i]) {
				return
			}
		}
	}
}

// Size is the number of executions of a region.
func (g *Graph) Size(r int) int { return len(g.regions[r].members) }

// Began is when a region was deployed, or zero.
func (g *Graph) Began(r int) time.Time { return g.executions[g.regions[r].members[0]].Started() }

// RegionEnded tells whether every execution of a region has reached a final
// state.
func (g *Graph) RegionEnded(r int) bool { return g.Unended(r) == 0 }

// Unended is the number of executions of a region that have not reached a final state.
func (g *Graph) Unended(r int) int { return len(g.regions[r].members) - g.regions[r].final }

// divide finds the regions: each component of the graph is one, or its subtasks with the same index are.
func (g *Graph) divide() {
	var whole []bool
	g.component, whole = g.job.Components()
	g.joinCommits(whole)
	regions := make(map[[2]int]int) // by component, and by subtask if it is not whole
	for i := range g.executions {
		e := &g.executions[i]
		key := [2]int{int(g.component[e.ID.Vertex]), e.ID.Subtask}
		if whole[key[0]] {
			key[1] = 0
		}
		r, known := regions[key]
		if !known {
			r = len(g.regions)
			regions[key] = r
			g.regions = append(g.regions, region{})
		}
		e.Region = r
		g.regions[r].members = append(g.regions[r].members, i)
	}
}

// joinCommits makes one component of the vertices that commit what one component has written, so that one record has all of it:
// after the first of several commits, the others could not have the writers run again. Nothing reads from such a vertex. So if one of
// the two components has no other vertices, no components wait for each other afterwards.
func (g *Graph) joinCommits(whole []bool) {
	others := make(map[jobgraph.VertexID]bool) // components with other vertices
	for v, vertex := range g.job.Vertices {
		others[g.component[v]] = others[g.component[v]] || !vertex.Commit
	}
	first := make(map[jobgraph.VertexID]jobgraph.VertexID) // vertices that commit, by the component of their writers
	for _, edge := range g.job.Edges {
		writers := g.component[edge.From]
		if !g.job.Vertices[edge.To].Commit || g.component[edge.To] == writers {
			continue
		}
		if _, known := first[writers]; !known {
			first[writers] = edge.To
		}
		a, b := g.component[first[writers]], g.component[edge.To]
		if others[a] && others[b] {
			continue
		}
		both := min(a, b)
		others[both], whole[both] = others[a] || others[b], whole[a] || whole[b]
		for v, c := range g.component {
			if c == a || c == b {
				g.component[v] = both
			}
		}
	}
}
