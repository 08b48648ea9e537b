package jobgraph

// Regions gives the slots of each slot sharing group that a region of the job needs at a time. A region is a set of
// subtasks that must run at the same time, because they are connected by edges or by co-locations. Vertices that are
// connected only pointwise have one region for each subtask; these regions are alike, and are listed once.
func (g *JobGraph) Regions() [][]int {
	component := make([]int, len(g.Vertices)) // of each vertex: the least vertex that it is connected with
	for v := range component {
		component[v] = v
	}
	find := func(v VertexID) int {
		at := int(v)
		for component[at] != at {
			component[at] = component[component[at]] // halves the path for later calls
			at = component[at]
		}
		return at
	}
	join := func(a, b VertexID) {
		x, y := find(a), find(b)
		component[max(x, y)] = min(x, y)
	}
	for _, e := range g.Edges {
		join(e.From, e.To)
	}
	for _, c := range g.CoLocations {
		join(c.A, c.B)
	}
	whole := make([]bool, len(g.Vertices)) // the component is one region
	for _, e := range g.Edges {
		whole[find(e.To)] = whole[find(e.To)] || e.Pattern == AllToAll
	}
	var regions [][]int
	at := make([]int, len(g.Vertices)) // of the component's first vertex
	for v := range g.Vertices {
		c := find(VertexID(v))
		if c == v {
			at[v] = len(regions)
			regions = append(regions, make([]int, len(g.SlotGroups())))
		}
		slots := 1
		if whole[c] {
			slots = g.Vertices[v].Parallelism
		}
		of := &regions[at[c]][g.Vertices[v].Group]
		*of = max(*of, slots)
	}
	return regions
}
