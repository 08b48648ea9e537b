package jobgraph_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// edge is an edge of a graph that has nothing else.
func edge(from, to jobgraph.VertexID, p jobgraph.Pattern, k jobgraph.Kind) jobgraph.Edge {
	return jobgraph.Edge{From: from, To: to, Pattern: p, Kind: k}
}

// It would catch a job that waits for slots of tasks that do not run yet, and one whose regions wait for each other.
func TestBlockingEdgesEndRegions(t *testing.T) {
	const all, one = jobgraph.AllToAll, jobgraph.Pointwise
	for name, c := range map[string]struct {
		edges []jobgraph.Edge
		want  [][]int
	}{
		"pipelined": {[]jobgraph.Edge{edge(0, 1, all, ""), edge(1, 2, one, "")}, [][]int{{4}}},
		"blocking":  {[]jobgraph.Edge{edge(0, 1, all, jobgraph.Blocking), edge(1, 2, one, "")}, [][]int{{1}, {1}}},
		"beside a pipelined one": {
			[]jobgraph.Edge{edge(0, 1, all, jobgraph.Blocking), edge(0, 1, one, ""), edge(1, 2, one, jobgraph.Blocking)},
			[][]int{{4}, {1}},
		},
		"in a cycle": {
			[]jobgraph.Edge{edge(0, 1, all, jobgraph.Blocking), edge(1, 2, one, jobgraph.Blocking), edge(0, 2, one, "")},
			[][]int{{4}},
		},
		"in a cycle of single subtasks": {
			[]jobgraph.Edge{edge(0, 1, one, jobgraph.Blocking), edge(1, 2, one, jobgraph.Blocking), edge(0, 2, one, "")},
			[][]int{{1}},
		},
	} {
		g := jobgraph.JobGraph{Edges: c.edges, Vertices: make([]jobgraph.Vertex, 3)}
		for v := range g.Vertices {
			g.Vertices[v].Parallelism = 4
		}
		if diff := cmp.Diff(c.want, g.Regions()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Components must be the least sets that hold both ends of each pipelined edge and do not read from each other in a cycle. The
// model joins vertices until nothing changes.
func TestComponentsDoNotWaitForEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := jobgraph.JobGraph{Vertices: make([]jobgraph.Vertex, rapid.IntRange(1, 8).Draw(t, "vertices"))}
		n := len(g.Vertices)
		for range rapid.IntRange(0, 12).Draw(t, "edges") {
			if n > 1 {
				to := rapid.IntRange(1, n-1).Draw(t, "to")
				kind := rapid.SampledFrom([]jobgraph.Kind{jobgraph.Pipelined, jobgraph.Blocking}).Draw(t, "kind")
				g.Edges = append(g.Edges, edge(jobgraph.VertexID(rapid.IntRange(0, to-1).Draw(t, "from")), jobgraph.VertexID(to), jobgraph.AllToAll, kind))
			}
		}
		before := make([][]bool, n) // before[a][b]: b cannot begin before a, or a runs at the same time as b
		for v := range before {
			before[v] = make([]bool, n)
			before[v][v] = true
		}
		for _, e := range g.Edges {
			before[e.From][e.To] = true
			before[e.To][e.From] = before[e.To][e.From] || e.Kind == jobgraph.Pipelined
		}
		for range n { // more than enough for the longest path
			for a := range n {
				for b := range n {
					for c := range n {
						before[a][c] = before[a][c] || before[a][b] && before[b][c]
					}
				}
			}
		}
		component, whole := g.Components()
		for v := range n {
			least := 0
			for !before[least][v] || !before[v][least] {
				least++
			}
			if int(component[v]) != least {
				t.Fatalf("vertex %d is in component %d, want %d: %+v", v, component[v], least, g.Edges)
			}
		}
		for _, e := range g.Edges {
			if c := component[e.To]; c == component[e.From] && !whole[c] {
				t.Fatalf("component %d is not whole", c)
			}
		}
	})
}
