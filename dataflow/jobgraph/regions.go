package jobgraph

// Regions gives the slots of each slot sharing group that a region of the job needs at a time. A region is a set of
// subtasks that must run at the same time, because pipelined edges or co-locations connect them; see Components. Components
// that are not whole have one region for each subtask; these regions are alike, and are listed once.
func (g *JobGraph) Regions() [][]int {
	component, whole := g.Components()
	at, n := placesOf(component)
	regions := make([][]int, n)
	for v, c := range component {
		if int(c) == v {
			regions[at[v]] = make([]int, len(g.SlotGroups()))
		}
		slots := 1
		if whole[c] {
			slots = g.Vertices[v].Parallelism
		}
		of := &regions[at[v]][g.Vertices[v].Group]
		*of = max(*of, slots)
	}
	return regions
}

// RegionInputs tells, for each of Regions and each slot sharing group, whether the region reads blocking partitions that tasks of other
// regions have written in slots of the group.
func (g *JobGraph) RegionInputs() [][]bool {
	component, _ := g.Components()
	at, n := placesOf(component)
	inputs := make([][]bool, n)
	for r := range inputs {
		inputs[r] = make([]bool, len(g.SlotGroups()))
	}
	for _, e := range g.Edges {
		if e.Kind == Blocking && component[e.From] != component[e.To] {
			inputs[at[e.To]][g.Vertices[e.From].Group] = true
		}
	}
	return inputs
}

// placesOf numbers the components of vertices in the order of their first vertices. at has the number for each vertex.
func placesOf(component []VertexID) (at []int, n int) {
	at = make([]int, len(component))
	for v, c := range component {
		if at[v] = at[c]; int(c) == v {
			at[v] = n
			n++
		}
	}
	return at, n
}

// Components divides the graph into parts whose vertices run at the same time: those that pipelined edges and co-locations connect.
// of gives for each vertex the first one of its component. whole says, at this first vertex, that all subtasks of the component
// are one region. Otherwise the subtasks with the same index are a region. The kinds of the edges must be settled; see SettleKinds.
func (g *JobGraph) Components() (of []VertexID, whole []bool) {
	parts := make(parts, len(g.Vertices))
	for v := range parts {
		parts[v] = v
	}
	for _, e := range g.Edges {
		if e.Kind == Pipelined {
			parts.join(int(e.From), int(e.To))
		}
	}
	for _, c := range g.CoLocations {
		parts.join(int(c.A), int(c.B))
	}
	of, whole = make([]VertexID, len(g.Vertices)), make([]bool, len(g.Vertices))
	for v := range of {
		of[v] = VertexID(parts.find(v))
	}
	for _, e := range g.Edges {
		if c := of[e.To]; e.Kind == Pipelined && e.Pattern == AllToAll {
			whole[c] = true
		}
	}
	return of, whole
}

// parts are disjoint sets of vertices. Each vertex names one of its set that is not greater, and the least one names itself.
type parts []int

func (p parts) find(v int) int {
	for p[v] != v {
		p[v] = p[p[v]] // halves the path for later calls
		v = p[v]
	}
	return v
}

func (p parts) join(a, b int) {
	x, y := p.find(a), p.find(b)
	p[max(x, y)] = min(x, y)
}
