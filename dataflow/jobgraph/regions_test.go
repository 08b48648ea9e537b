package jobgraph_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

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
			[]jobgraph.Edge{edge(0, 1, one, ""), edge(0, 2, all, jobgraph.Blocking), edge(1, 2, one, jobgraph.Blocking)},
			[][]int{{1}, {1}},
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
