package dataflow

import "github.com/bobbin-yarn/bobbin/dataflow/jobgraph"

// waits says for the tasks of a graph what must happen before what. There are three events of each vertex:
//
//	ends(v)   its tasks have ended
//	flows(v)  its consumers take all that it emits
//	opens(v)  it begins to read the inputs that it holds back
//
// and waits lists for each event those before it:
//
//	ends(v)   needs flows(v), and ends(u) of each producer u
//	flows(u)  needs flows(v) of each consumer v that reads a pipelined edge, and opens(v) if v holds this edge back
//	opens(v)  needs ends(w) of each producer w of an input that v does not hold back
//
// A job can get stuck only if an event needs itself: a task that does not go on waits for one of these events, which has another
// task that does not go on. Channels and memory may be as small as one record.
type waits [][]int

// newWaits lists what the events of a graph need. held says for each edge whether its consumer holds it back.
func newWaits(g *jobgraph.JobGraph, held []bool) waits {
	n := len(g.Vertices)
	ends := func(v jobgraph.VertexID) int { return int(v) }
	flows := func(v jobgraph.VertexID) int { return n + int(v) }
	opens := func(v jobgraph.VertexID) int { return 2*n + int(v) }
	w := make(waits, 3*n)
	needs := func(event, earlier int) { w[event] = append(w[event], earlier) }
	for v := range jobgraph.VertexID(n) {
		needs(ends(v), flows(v))
	}
	for i, e := range g.Edges {
		needs(ends(e.To), ends(e.From))
		if e.Kind == jobgraph.Pipelined {
			needs(flows(e.From), flows(e.To))
			if held[i] {
				needs(flows(e.From), opens(e.To))
			}
		}
		if !held[i] {
			needs(opens(e.To), ends(e.From))
		}
	}
	return w
}

// cyclic reports whether an event needs itself.
func (w waits) cyclic() bool {
	needed := make([]int, len(w)) // by how many events that are left
	for _, earlier := range w {
		for _, e := range earlier {
			needed[e]++
		}
	}
	var free []int
	for event, n := range needed {
		if n == 0 {
			free = append(free, event)
		}
	}
	left := len(w)
	for ; len(free) > 0; left-- {
		event := free[len(free)-1]
		free = free[:len(free)-1]
		for _, e := range w[event] {
			if needed[e]--; needed[e] == 0 {
				free = append(free, e)
			}
		}
	}
	return left > 0
}
