package dataflow

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// toy runs a graph with one subtask for each vertex. A source emits more records than all channels hold, and each vertex passes
// each record on to all of its outputs. A channel holds one record.
type toy struct {
	graph    *jobgraph.JobGraph
	held     []bool
	channels []int // records on each edge
	left     []int // of each vertex: records of a source that it has not emitted
	pending  []int // of each vertex: outputs that get the record it has at hand
	ended    []bool
}

// stuck runs the graph, and reports whether it comes to a stop before all tasks have ended.
func stuck(g *jobgraph.JobGraph, held []bool) bool {
	n := len(g.Vertices)
	t := &toy{g, held, make([]int, len(g.Edges)), make([]int, n), make([]int, n), make([]bool, n)}
	for v := range n {
		if len(g.Inputs(jobgraph.VertexID(v))) == 0 {
			t.left[v] = 2*n + 2*len(g.Edges)
		}
	}
	for moved := true; moved; {
		moved = false
		for v := range n {
			moved = t.step(v) || moved
		}
	}
	return slices.Contains(t.ended, false)
}

// step lets a vertex do one thing, and reports whether it could.
func (t *toy) step(v int) bool {
	outputs := t.edges(v, false)
	if t.pending[v] > 0 {
		to := outputs[len(outputs)-t.pending[v]]
		if t.graph.Edges[to].Kind == jobgraph.Pipelined && t.channels[to] > 0 {
			return false
		}
		t.channels[to]++
		t.pending[v]--
		return true
	}
	if t.left[v] > 0 {
		t.left[v]--
		t.pending[v] = len(outputs)
		return true
	}
	return t.take(v, len(outputs))
}

// take takes a record from an input, or ends the vertex if there are no more.
func (t *toy) take(v, outputs int) bool {
	inputs := t.edges(v, true)
	over := func(e int) bool { return t.ended[t.graph.Edges[e].From] && t.channels[e] == 0 }
	opened := !slices.ContainsFunc(inputs, func(e int) bool { return !t.held[e] && !over(e) })
	for _, e := range inputs {
		readable := t.graph.Edges[e].Kind == jobgraph.Pipelined || t.ended[t.graph.Edges[e].From]
		if readable && (opened || !t.held[e]) && t.channels[e] > 0 {
			t.channels[e]--
			t.pending[v] = outputs
			return true
		}
	}
	if t.ended[v] || slices.ContainsFunc(inputs, func(e int) bool { return !over(e) }) {
		return false
	}
	t.ended[v] = true
	return true
}

// edges lists the edges that end at a vertex, or that begin there.
func (t *toy) edges(v int, inputs bool) (found []int) {
	for i, e := range t.graph.Edges {
		if inputs && int(e.To) == v || !inputs && int(e.From) == v {
			found = append(found, i)
		}
	}
	return found
}

// heldGraph is a graph with the edges of text: "0>2 1>2h" is a vertex 2 that reads 0 to its end before it reads 1.
func heldGraph(text string) (g *jobgraph.JobGraph, held []bool) {
	g = &jobgraph.JobGraph{}
	for edge := range strings.FieldsSeq(text) {
		e := jobgraph.Edge{Pattern: jobgraph.AllToAll}
		if _, err := fmt.Sscanf(edge, "%d>%d", &e.From, &e.To); err != nil {
			panic(err)
		}
		g.Edges = append(g.Edges, e)
		held = append(held, strings.HasSuffix(edge, "h"))
		for len(g.Vertices) <= int(e.To) {
			g.Vertices = append(g.Vertices, jobgraph.Vertex{Operators: []string{string(rune('A' + len(g.Vertices)))}, Parallelism: 1})
		}
	}
	return g, held
}

func drawHeldGraph(t *rapid.T) (g *jobgraph.JobGraph, held []bool) {
	var edges []string
	for to := range rapid.IntRange(2, 7).Draw(t, "vertices") {
		for n := rapid.IntRange(0, min(to, 1)*3).Draw(t, "inputs"); n > 0; n-- {
			edges = append(edges, fmt.Sprintf("%d>%d%s", rapid.IntRange(0, to-1).Draw(t, "from"), to, rapid.SampledFrom([]string{"", "h"}).Draw(t, "held")))
		}
	}
	return heldGraph(strings.Join(edges, " "))
}

// A plan of any form must not get stuck, in no mode, and an edge is blocking only if the job gets stuck without.
func TestNoPlanWaitsForItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g, held := drawHeldGraph(t)
		if got, want := newWaits(g, held).cyclic(), stuck(g, held); got != want {
			t.Fatalf("with all edges pipelined: would be stuck = %v, is stuck = %v", got, want)
		}
		if err := breakWaits(g, held, shuffleAutomatic); err != nil {
			t.Fatal(err)
		}
		if stuck(g, held) {
			t.Fatalf("stuck: %+v", g.Edges)
		}
		for i := range g.Edges {
			if g.Edges[i].Kind == jobgraph.Blocking {
				g.Edges[i].Kind = jobgraph.Pipelined
				if !stuck(g, held) {
					t.Fatalf("edge %d need not be blocking: %+v", i, g.Edges)
				}
				g.Edges[i].Kind = jobgraph.Blocking
			}
		}
		if err := g.SettleKinds(); err != nil || stuck(g, held) {
			t.Fatalf("stuck with settled kinds: %+v, error %v", g.Edges, err)
		}
		pointwise := rapid.SliceOfN(rapid.Bool(), len(g.Edges), len(g.Edges)).Draw(t, "pointwise")
		for i := range g.Edges {
			if g.Edges[i].Kind = jobgraph.Pipelined; pointwise[i] {
				g.Edges[i].Pattern = jobgraph.Pointwise
			}
		}
		if err := setKinds(g, held, shuffleBlocking); err != nil || stuck(g, held) {
			t.Fatalf("stuck with all exchanges blocking: %+v, error %v", g.Edges, err)
		}
	})
}

// Only those edges may be blocking that must: a blocking edge costs a disk.
func TestOnlyNecessaryEdgesAreBlocking(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ edges, blocking string }{
		"two sources":                    {"0>2 1>2h", ""},
		"a source with itself":           {"0>1 0>1h", "0>1h"},
		"a diamond":                      {"0>1 1>2 0>2h", "0>2h"},
		"a diamond, the other way round": {"0>1 1>2h 0>2", "1>2h"},
		"two crossed joins":              {"0>2 1>2h 1>3 0>3h", "1>2h"},
		"two joins one after the other":  {"0>2 1>2h 2>4h 3>4", ""},
		"a join behind a diamond":        {"0>1 0>2 1>3h 2>3 3>5 4>5h", "1>3h"},
		"a union":                        {"0>1 0>1", ""},
	} {
		g, held := heldGraph(c.edges)
		if err := breakWaits(g, held, shuffleAutomatic); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var blocking []string
		for i, text := range strings.Fields(c.edges) {
			if g.Edges[i].Kind == jobgraph.Blocking {
				blocking = append(blocking, text)
			}
		}
		if got := strings.Join(blocking, " "); got != c.blocking {
			t.Errorf("%s: %q are blocking, want %q", name, got, c.blocking)
		}
	}
}

// It would catch a blocking edge that the plan shows without its reason, or with that of another one.
func TestABlockingEdgeHasItsReason(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edges string
		mode  shuffleMode
		why   []string // of each edge
	}{
		"a diamond": {"0>1 1>2 0>2h", shuffleAutomatic, []string{
			"", "its consumer runs later, because another edge on the way there is blocking", `"C" reads it only after all of "B", and both come from "A"`,
		}},
		"a source with itself": {"0>1h 0>1", shuffleAutomatic, []string{
			`"B" reads it only after another input, and both come from "A"`, "its consumer runs later, because another edge on the way there is blocking",
		}},
		"two crossed joins": {"0>2 1>2h 1>3 0>3h", shuffleAutomatic, []string{
			"its consumer runs later, because another edge on the way there is blocking", `"C" reads it only after all of "A", and these may wait for each other`, "", "",
		}},
		"all blocking":               {"0>1", shuffleBlocking, []string{"the option execution.batch-shuffle-mode is ALL_EXCHANGES_BLOCKING"}},
		"several attempts of a task": {"0>1", shuffleSpeculative, []string{"the option execution.batch.speculative.enabled is true, and a task with pipelined edges has one attempt at a time"}},
	} {
		g, held := heldGraph(c.edges)
		if err := setKinds(g, held, c.mode); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for i, e := range g.Edges {
			if e.Why != c.why[i] {
				t.Errorf("%s: %s edge %d: %q, want %q", name, e.Kind, i, e.Why, c.why[i])
			}
		}
	}
}

func TestAPlanThatWouldDeadlockIsRefused(t *testing.T) {
	t.Parallel()
	g, held := heldGraph("0>1 1>2 0>2h")
	err := setKinds(g, held, shufflePipelined)
	if !errors.Is(err, ErrWouldDeadlock) || !strings.Contains(err.Error(), `the edge from "A" must not be pipelined: "C" reads it only after all of "B", and both come from "A"`) {
		t.Errorf("error %v, want one that names the edges", err)
	}
	g, held = heldGraph("0>2 1>2h")
	if err := setKinds(g, held, shufflePipelined); err != nil {
		t.Errorf("a plan that cannot wait for itself: %v", err)
	}
}
