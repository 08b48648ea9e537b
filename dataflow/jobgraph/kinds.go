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
// A vertex's level is the largest number of blocking edges on a way to it; see also delay. An edge between two levels is blocking.
// So the tasks of a region all have the same level.
func (g *JobGraph) SettleKinds() error {
	level, err := g.levels()
	if err != nil {
		return err
	}
	g.delay(level)
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

// delay raises vertices to the least level of their consumers, if these take pipelined edges only: otherwise a source would run
// first in any case, and its edge to a join that comes late would be blocking without need. Vertices that run at the same time are
// raised together.
func (g *JobGraph) delay(level []int) {
	together := make(parts, len(g.Vertices))
	for v := range together {
		together[v] = v
	}
	for _, e := range g.Edges {
		if e.Kind == Pipelined && level[e.From] == level[e.To] {
			together.join(int(e.From), int(e.To))
		}
	}
	for _, c := range g.CoLocations {
		together.join(int(c.A), int(c.B))
	}
	members, consumers, fixed := make([][]int, len(level)), make([][]VertexID, len(level)), make([]bool, len(level))
	for v := range level {
		part := together.find(v)
		members[part] = append(members[part], v)
	}
	for _, e := range g.Edges {
		if part := together.find(int(e.From)); e.Kind == Blocking {
			fixed[part] = true
		} else if part != together.find(int(e.To)) {
			consumers[part] = append(consumers[part], e.To)
		}
	}
	last := make([]int, 0, len(level)) // the first vertices of all parts, those of the highest level first
	for v := range level {
		if len(consumers[v]) > 0 && !fixed[v] {
			last = append(last, v)
		}
	}
	slices.SortStableFunc(last, func(a, b int) int { return cmp.Compare(level[b], level[a]) })
	for _, part := range last {
		least := level[consumers[part][0]]
		for _, to := range consumers[part] {
			least = min(least, level[to])
		}
		for _, v := range members[part] {
			level[v] = least
		}
	}
}

// validateKinds checks that the kinds are settled: that no component has to wait for itself.
func (g *JobGraph) validateKinds() error {
	component, _ := g.Components()
	producers, consumers := make([]int, len(component)), make([][]VertexID, len(component))
	for _, e := range g.Edges {
		if e.Kind == Blocking {
			producers[component[e.To]]++
			consumers[component[e.From]] = append(consumers[component[e.From]], component[e.To])
		}
	}
	var ready []VertexID // components whose producers have all ended
	for v, n := range producers {
		if n == 0 {
			ready = append(ready, VertexID(v))
		}
	}
	for len(ready) > 0 {
		from := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		for _, to := range consumers[from] {
			if producers[to]--; producers[to] == 0 {
				ready = append(ready, to)
			}
		}
	}
	for _, e := range g.Edges {
		if e.Kind == Blocking && producers[component[e.From]] > 0 && producers[component[e.To]] > 0 {
			return fmt.Errorf("%w: the edge from %q to %q is blocking, but pipelined edges or co-locations make the one wait for the other",
				ErrInvalid, g.Vertices[e.From].Name, g.Vertices[e.To].Name)
		}
	}
	return nil
}
