package executiongraph

import (
	"iter"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// A pipelined region is a set of executions that must run at the same time, because they read each
// other's output, or in the same slots. It is deployed as a whole. If one of its executions fails,
// the whole region restarts. All edges are pipelined, so regions are the connected components of the
// graph, in which co-locations count as edges, and no edge leaves a region.

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

// RegionEnded tells whether every execution of a region has reached a final
// state.
func (g *Graph) RegionEnded(r int) bool { return g.Unended(r) == 0 }

// Unended is the number of executions of a region that have not reached a final state.
func (g *Graph) Unended(r int) int { return len(g.regions[r].members) - g.regions[r].final }

// divide finds the regions. An all-to-all edge connects every producer with every consumer. Joining
// every member of this group with one of them costs the sum of both sides, not their product.
func (g *Graph) divide() {
	sets := newDisjointSets(len(g.executions))
	for _, edge := range g.job.Edges {
		from, to := g.first[edge.From], g.first[edge.To]
		switch edge.Pattern {
		case jobgraph.AllToAll:
			for p := range g.job.Vertices[edge.From].Parallelism {
				sets.join(from+p, to)
			}
			for c := range g.job.Vertices[edge.To].Parallelism {
				sets.join(from, to+c)
			}
		case jobgraph.Pointwise:
			for s := range g.job.Vertices[edge.From].Parallelism {
				sets.join(from+s, to+s)
			}
		}
	}
	for _, pair := range g.job.CoLocations {
		for s := range g.job.Vertices[pair.A].Parallelism {
			sets.join(g.first[pair.A]+s, g.first[pair.B]+s)
		}
	}
	number := make(map[int]int) // of a set's representative
	for i := range g.executions {
		root := sets.find(i)
		r, known := number[root]
		if !known {
			r = len(g.regions)
			number[root] = r
			g.regions = append(g.regions, region{})
		}
		g.executions[i].Region = r
		g.regions[r].members = append(g.regions[r].members, i)
	}
}

// disjointSets is union-find: parent[i] leads to the representative of i's set.
type disjointSets struct{ parent []int }

func newDisjointSets(n int) disjointSets {
	parent := make([]int, n)
	for i := range parent {
		parent[i] = i
	}
	return disjointSets{parent}
}

func (d disjointSets) find(i int) int {
	for d.parent[i] != i {
		d.parent[i] = d.parent[d.parent[i]] // halve the path for later calls
		i = d.parent[i]
	}
	return i
}

// join unites two sets. The smaller index represents both, so the result does not depend on the
// order of edges.
func (d disjointSets) join(a, b int) {
	a, b = d.find(a), d.find(b)
	d.parent[max(a, b)] = min(a, b)
}
