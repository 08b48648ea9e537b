package jobgraph

// Regions gives the slots of each slot sharing group that a region of the job needs at a time. A region is a set of
// subtasks that must run at the same time, because pipelined edges or co-locations connect them; see Components. Components
// that are not whole have one region for each subtask; these regions are alike, and are listed once.
func (g *JobGraph) Regions() [][]int {
	component, whole := g.Components()
	var regions [][]int
	at := make([]int, len(g.Vertices)) // of the component's first vertex
	for v, c := range component {
		if int(c) == v {
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

// Components divides the graph into parts whose vertices run at the same time. of gives for each vertex the first one of its
// component. whole says, at this first vertex, that all subtasks of the component are one region. Otherwise the subtasks with the
// same index are a region.
//
// Pipelined edges and co-locations connect vertices. Blocking edges do not: a component that reads them runs when their producers
// have ended. Two components that read from each other, directly or through others, could then never run. So they are one component,
// with blocking edges inside.
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
	readers := make([][]int, len(g.Vertices)) // of each component
	for _, e := range g.Edges {
		if from, to := parts.find(int(e.From)), parts.find(int(e.To)); from != to {
			readers[from] = append(readers[from], to)
		}
	}
	for _, cycle := range cycles(readers) {
		for _, c := range cycle {
			parts.join(cycle[0], c)
		}
	}
	of, whole = make([]VertexID, len(g.Vertices)), make([]bool, len(g.Vertices))
	for v := range of {
		of[v] = VertexID(parts.find(v))
	}
	for _, e := range g.Edges {
		if c := of[e.To]; c == of[e.From] && e.Pattern == AllToAll {
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

// cycles gives the sets of nodes that reach each other, if they have more than one node (Tarjan's algorithm). next are the
// nodes behind each node.
func cycles(next [][]int) [][]int {
	var sets [][]int
	var path []int                  // nodes that were visited, and whose set is not known
	order := make([]int, len(next)) // of the visits, from 1; 0: not visited
	known := make([]bool, len(next))
	visits := 0
	var visit func(v int) (low int)
	visit = func(v int) int {
		visits++
		order[v] = visits
		low, at := visits, len(path)
		path = append(path, v)
		for _, w := range next[v] {
			switch {
			case order[w] == 0:
				low = min(low, visit(w))
			case !known[w]:
				low = min(low, order[w])
			}
		}
		if low < order[v] {
			return low // v is in the set of an earlier node
		}
		set := append([]int(nil), path[at:]...)
		path = path[:at]
		for _, w := range set {
			known[w] = true
		}
		if len(set) > 1 {
			sets = append(sets, set)
		}
		return low
	}
	for v := range next {
		if order[v] == 0 {
			visit(v)
		}
	}
	return sets
}
