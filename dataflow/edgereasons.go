package dataflow

import (
	"fmt"
	"slices"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// explain gives a reason to those blocking edges that have none.
func explain(g *jobgraph.JobGraph, why string) {
	for i := range g.Edges {
		if e := &g.Edges[i]; e.Kind == jobgraph.Blocking && e.Why == "" {
			e.Why = shorter(why, jobgraph.MaxWhy)
		}
	}
}

// waitReason says why tasks could wait for each other if a held edge were pipelined: what is read before it, and where both come
// from. The edges of the graph are in the order of their consumers.
func waitReason(g *jobgraph.JobGraph, held []bool, edge int) string {
	e := g.Edges[edge]
	above := ancestors(g, e.From)
	first, origin := -1, -1 // the edge that is read first, and the last vertex above both
	for i, other := range g.Edges {
		if other.To != e.To || held[i] {
			continue
		}
		common := -1
		for v, is := range ancestors(g, other.From) {
			if is && above[v] {
				common = v
			}
		}
		if first < 0 || common > origin {
			first, origin = i, common
		}
	}
	if first < 0 { // it would not be held back
		return ""
	}
	read := shorter(g.Vertices[e.To].Operators[0], maxShownName)
	earlier := lastOperator(g, g.Edges[first].From)
	switch {
	case origin < 0:
		return fmt.Sprintf("%q reads it only after all of %q, and these may wait for each other", read, earlier)
	case origin == int(g.Edges[first].From):
		return fmt.Sprintf("%q reads it only after another input, and both come from %q", read, lastOperator(g, jobgraph.VertexID(origin)))
	default:
		return fmt.Sprintf("%q reads it only after all of %q, and both come from %q", read, earlier, lastOperator(g, jobgraph.VertexID(origin)))
	}
}

// ancestors tells the vertices from which a way leads to v, and v itself.
func ancestors(g *jobgraph.JobGraph, v jobgraph.VertexID) []bool {
	is := make([]bool, len(g.Vertices))
	is[v] = true
	for _, e := range slices.Backward(g.Edges) {
		is[e.From] = is[e.From] || is[e.To]
	}
	return is
}

// maxShownName bounds the name of an operator within a reason, in bytes.
const maxShownName = 100

func lastOperator(g *jobgraph.JobGraph, v jobgraph.VertexID) string {
	all := g.Vertices[v].Operators
	return shorter(all[len(all)-1], maxShownName)
}

// shorter cuts a text to at most this many bytes, which are more than those of the sign for what is missing.
func shorter(text string, most int) string {
	const missing = "…"
	if len(text) <= most {
		return text
	}
	return whole([]byte(text[:most-len(missing)])) + missing
}
