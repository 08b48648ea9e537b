package jobgraph

import (
	"cmp"
	"fmt"
	"slices"
)

// BlockExchanges makes all edges blocking that connect each producer with each consumer, and those others that must be then; see
// SettleKinds. The job then needs one slot at a time of each group, unless co-locations or several groups need more. The same
// graph always gives the same kinds.
func (g *JobGraph) BlockExchanges() error {
	for i := range g.Edges {
		if g.Edges[i].Pattern == AllToAll {
			g.Edges[i].Kind = Blocking
		}
	}
	return g.SettleKinds()
}

// WithBlockingExchanges returns a copy of the graph after BlockExchanges, and its error. The copy shares everything but the edges.
func (g *JobGraph) WithBlockingExchanges() (*JobGraph, error) {
	blocking := *g
	blocking.Edges = slices.Clone(g.Edges)
	return &blocking, blocking.BlockExchanges()
}

// SettleKinds makes further edges blocking, so that no region has to wait for itself. A consumer of a blocking edge runs after its
// producer. So no pipelined edges may connect the two, directly or through other vertices: such edges connect tasks that run at the
// same time. Co-locations do so, too, but cannot be changed. The error wraps ErrInvalid, and says that co-located vertices
// would have to run one after the other. Then the kinds are not settled.
//
// A vertex's level is the largest number of blocking edges on a way to it. An edge between two levels is blocking. This changes
// no level, so afterwards the tasks of a region all have the same level.
func (g *JobGraph) SettleKinds() error {
	level, err := g.levels()
	if err != nil {
		return err
	}
	for i := range g.Edges {
		if e := &g.Edges[i]; level[e.From] < level[e.To] {
			e.Kind = Blocking
		}
	}
	return nil
}

// levels gives the level of each vertex. Co-located vertices are raised to the same level.
func (g *JobGraph) levels() ([]int, error) {
	level := make([]int, len(g.Vertices))
	raise := func(v VertexID, to int) bool {
		raised := level[v] < to
		level[v] = max(level[v], to)
		return raised
	}
	edges := slices.SortedFunc(slices.Values(g.Edges), func(a, b Edge) int { return cmp.Compare(a.To, b.To) })
	for changed := true; changed; { // once, but for co-locations
		changed = false
		for _, e := range edges {
			step := 0
			if e.Kind == Blocking {
				step = 1
			}
			raise(e.To, level[e.From]+step)
		}
		for _, c := range g.CoLocations {
			a, b := raise(c.A, level[c.B]), raise(c.B, level[c.A])
			changed = changed || a || b
			if level[c.A] >= len(g.Vertices) { // no way has as many edges: they raise each other
				return nil, fmt.Errorf("%w: %q and %q are co-located, but one of them has to run after the other has ended: remove the co-location",
					ErrInvalid, g.Vertices[c.A].Name, g.Vertices[c.B].Name)
			}
		}
	}
	return level, nil
}

// validateKinds checks that the kinds are settled.
func (g *JobGraph) validateKinds() error {
	level, err := g.levels()
	if err != nil {
		return err
	}
	for _, e := range g.Edges {
		if e.Kind == Pipelined && level[e.From] < level[e.To] {
			return fmt.Errorf("%w: the edge from %q to %q is pipelined, but a blocking edge makes the one run after the other",
				ErrInvalid, g.Vertices[e.From].Name, g.Vertices[e.To].Name)
		}
	}
	return nil
}
