package jobgraph_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// chainGraph has n vertices of parallelism 4 and these edges.
func chainGraph(n int, edges ...jobgraph.Edge) *jobgraph.JobGraph {
	g := &jobgraph.JobGraph{Edges: edges, Vertices: make([]jobgraph.Vertex, n)}
	for v := range g.Vertices {
		g.Vertices[v] = jobgraph.Vertex{Name: string(rune('A' + v)), Parallelism: 4}
	}
	return g
}

// A region with a blocking edge inside could never run, and neither could two regions that read from each other. The model asks each
// pair of vertices whether one must have ended before the other begins, and whether both run at the same time.
func TestNoRegionWaitsForItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "vertices")
		g := chainGraph(n)
		for range rapid.IntRange(0, 12).Draw(t, "edges") {
			if n > 1 {
				to := rapid.IntRange(1, n-1).Draw(t, "to")
				kind := rapid.SampledFrom([]jobgraph.Kind{jobgraph.Pipelined, jobgraph.Blocking}).Draw(t, "kind")
				g.Edges = append(g.Edges, edge(jobgraph.VertexID(rapid.IntRange(0, to-1).Draw(t, "from")), jobgraph.VertexID(to), jobgraph.AllToAll, kind))
			}
		}
		if rapid.Bool().Draw(t, "exchanges") {
			if err := g.BlockExchanges(); err != nil {
				t.Fatal(err)
			}
		} else if err := g.SettleKinds(); err != nil {
			t.Fatal(err)
		}
		together, ended := make([][]bool, n), make([][]bool, n) // ended[a][b]: a has ended before b begins
		for v := range n {
			together[v], ended[v] = make([]bool, n), make([]bool, n)
			together[v][v] = true
		}
		for _, e := range g.Edges {
			if e.Kind == jobgraph.Blocking {
				ended[e.From][e.To] = true
			} else {
				together[e.From][e.To], together[e.To][e.From] = true, true
			}
		}
		for range n { // more than enough for the longest path
			for a := range n {
				for b := range n {
					for c := range n {
						together[a][c] = together[a][c] || together[a][b] && together[b][c]
						ended[a][c] = ended[a][c] || ended[a][b] && (ended[b][c] || together[b][c]) || together[a][b] && ended[b][c]
					}
				}
			}
		}
		component, _ := g.Components()
		for a := range n {
			if ended[a][a] {
				t.Fatalf("vertex %d waits for itself: %+v", a, g.Edges)
			}
			for b := range n {
				if same := component[a] == component[b]; same != together[a][b] {
					t.Fatalf("vertices %d and %d are in one component: %v, want %v", a, b, same, together[a][b])
				}
			}
		}
	})
}

// An edge that need not be blocking costs a disk.
func TestOnlyEdgesBesideABlockingOneBecomeBlocking(t *testing.T) {
	const all, one = jobgraph.AllToAll, jobgraph.Pointwise
	g := chainGraph(5, edge(0, 1, one, ""), edge(1, 3, all, jobgraph.Blocking), edge(0, 2, all, ""), edge(2, 3, one, ""), edge(3, 4, all, ""))
	if err := g.SettleKinds(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []jobgraph.Kind{jobgraph.Pipelined, jobgraph.Blocking, jobgraph.Pipelined, jobgraph.Blocking, jobgraph.Pipelined} {
		if e := g.Edges[i]; e.Kind != want {
			t.Errorf("edge %d -> %d is %s, want %s", e.From, e.To, e.Kind, want)
		}
	}
}

// A source that nothing forces to run first waits for its consumer. It would catch a join of a join with a source that keeps the
// source's elements on the disk.
func TestASourceRunsWithItsConsumer(t *testing.T) {
	const all, one = jobgraph.AllToAll, jobgraph.Pointwise
	// A is joined with itself in B; C, with D behind it, is joined with the result in E.
	g := chainGraph(5, edge(0, 1, all, jobgraph.Blocking), edge(0, 1, all, ""), edge(2, 3, one, ""), edge(1, 4, all, ""), edge(3, 4, all, ""))
	if err := g.SettleKinds(); err != nil {
		t.Fatal(err)
	}
	for i, want := range []jobgraph.Kind{jobgraph.Blocking, jobgraph.Blocking, jobgraph.Pipelined, jobgraph.Pipelined, jobgraph.Pipelined} {
		if e := g.Edges[i]; e.Kind != want {
			t.Errorf("edge %d -> %d is %s, want %s", e.From, e.To, e.Kind, want)
		}
	}
	// An edge that is blocking already, or a co-location with A, keeps a source where it is.
	for name, fixed := range map[string]*jobgraph.JobGraph{
		"blocking":    chainGraph(4, edge(0, 1, all, jobgraph.Blocking), edge(2, 1, all, ""), edge(2, 3, all, jobgraph.Blocking)),
		"co-location": chainGraph(3, edge(0, 1, all, jobgraph.Blocking), edge(2, 1, all, "")),
	} {
		if name == "co-location" {
			fixed.CoLocations = []jobgraph.CoLocation{{A: 0, B: 2}}
		}
		if err := fixed.SettleKinds(); err != nil || fixed.Edges[1].Kind != jobgraph.Blocking {
			t.Errorf("%s: error %v, edges %+v", name, err, fixed.Edges)
		}
	}
}

// It would catch a planner that does not end.
func TestCoLocatedVerticesCannotRunOneAfterTheOther(t *testing.T) {
	g := chainGraph(3, edge(0, 1, jobgraph.AllToAll, jobgraph.Blocking), edge(1, 2, jobgraph.Pointwise, ""))
	g.CoLocations = []jobgraph.CoLocation{{A: 0, B: 2}}
	if err := g.SettleKinds(); !errors.Is(err, jobgraph.ErrInvalid) {
		t.Errorf("error %v, want ErrInvalid", err)
	}
	g = chainGraph(4, edge(0, 1, jobgraph.AllToAll, jobgraph.Blocking), edge(2, 3, jobgraph.AllToAll, ""))
	g.CoLocations = []jobgraph.CoLocation{{A: 1, B: 2}}
	if err := g.SettleKinds(); err != nil || g.Edges[1].Kind != jobgraph.Pipelined {
		t.Errorf("error %v, edges %+v", err, g.Edges)
	}
}
