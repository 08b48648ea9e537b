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

// TestRegionsNameTheGroupsThatTheyRead would catch a job that is refused because of tasks whose partitions nobody reads any more, and one
// that waits because the workers of its producers have no room beside its consumers.
func TestRegionsNameTheGroupsThatTheyRead(t *testing.T) {
	const all, one = jobgraph.AllToAll, jobgraph.Pointwise
	g := jobgraph.JobGraph{
		Groups: []jobgraph.Group{{Name: "read"}, {Name: "sort"}, {Name: "write"}},
		Edges: []jobgraph.Edge{
			edge(0, 1, all, jobgraph.Blocking), edge(1, 3, all, jobgraph.Blocking), edge(2, 3, one, ""), edge(2, 3, all, jobgraph.Blocking),
		},
		Vertices: []jobgraph.Vertex{{Parallelism: 4}, {Parallelism: 4, Group: 1}, {Parallelism: 4}, {Parallelism: 4, Group: 2}},
	}
	want := [][]bool{{false, false, false}, {true, false, false}, {false, true, false}}
	if diff := cmp.Diff(want, g.RegionInputs()); diff != "" || len(g.Regions()) != len(want) {
		t.Errorf("of %d regions (-want +got):\n%s", len(g.Regions()), diff)
	}
}
