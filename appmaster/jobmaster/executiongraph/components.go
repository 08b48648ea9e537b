package executiongraph

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// A component of the graph is done, with all its regions, when nothing makes it run again: all its regions are consumed, and all
// components that read from it are done. Single regions are not done: if their producers run again, the subtasks of a source may
// divide its splits in another way, and the regions of a component need records that belong together.

// component is the regions of a component.
type component struct {
	regions  []int
	consumed int // of them
	done     bool
}

// Component is the first vertex of the component of the graph that a region belongs to: see jobgraph.Components.
func (g *Graph) Component(r int) int {
	return int(g.component[g.executions[g.regions[r].members[0]].ID.Vertex])
}

func (g *Graph) componentOf(r int) *component { return &g.components[g.Component(r)] }

// Done tells whether nothing can make a region run again, but the restart of all regions.
func (g *Graph) Done(r int) bool { return g.componentOf(r).done }

// Settle makes the component of a region done if it can be, and then those from which it reads. It gives the regions that have
// become done.
func (g *Graph) Settle(r int) (done []int) { return g.settle(g.Component(r)) }

func (g *Graph) settle(at int) (done []int) {
	c := &g.components[at]
	if c.done || c.consumed < len(c.regions) || slices.ContainsFunc(g.exchanges, func(x *exchange) bool {
		return !x.inner && int(g.component[x.From]) == at && !g.components[g.component[x.To]].done
	}) {
		return nil
	}
	c.done = true
	done = slices.Clone(c.regions)
	for _, x := range g.exchanges {
		if !x.inner && int(g.component[x.To]) == at {
			done = append(done, g.settle(int(g.component[x.From]))...)
		}
	}
	return done
}

// MayCommit tells whether the output that the tasks of a region commit is written for good: each region whose tasks write it never
// runs again, because all others that read from it are done.
func (g *Graph) MayCommit(r int) bool {
	if !g.Blocking() {
		return true
	}
	writes := make(map[jobgraph.VertexID]bool) // by component
	var own jobgraph.VertexID
	for v := range g.runs(r) {
		own = g.component[v]
		writes[own] = true
		if g.job.Vertices[v].Commit {
			for _, x := range g.inputs[v] {
				writes[g.component[x.From]] = true
			}
		}
	}
	for _, x := range g.exchanges {
		if !x.inner && writes[g.component[x.From]] && g.component[x.To] != own && !g.components[g.component[x.To]].done {
			return false
		}
	}
	return true
}
