package executiongraph

import (
	"iter"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// exchange is a blocking edge. It counts partitions and consumers, so its memory is proportional to the number of its producers,
// whatever the number of its channels.
type exchange struct {
	jobgraph.Edge
	inner      bool        // it begins and ends in the same region
	partitions []partition // by subtask of the producer
	available  int         // partitions in this state
	recalled   bool        // see Recall
	revoked    bool        // see Revoke
	bytes      int64       // of these, as hosts have told: of a host that lies it is no sum
	reading    int         // consumers in regions that are not consumed
}

// newExchanges makes the exchanges of a graph whose regions are known.
func (g *Graph) newExchanges() {
	g.inputs, g.outputs = make([][]*exchange, len(g.job.Vertices)), make([][]*exchange, len(g.job.Vertices))
	g.components = make([]component, len(g.job.Vertices))
	for r := range g.regions {
		c := g.componentOf(r)
		c.regions = append(c.regions, r)
	}
	for _, edge := range g.job.Edges {
		if edge.Kind != jobgraph.Blocking {
			continue
		}
		consumers := g.job.Vertices[edge.To].Parallelism
		x := &exchange{
			Edge: edge, inner: g.component[edge.From] == g.component[edge.To],
			partitions: make([]partition, g.job.Vertices[edge.From].Parallelism), reading: consumers,
		}
		g.exchanges = append(g.exchanges, x)
		g.inputs[edge.To] = append(g.inputs[edge.To], x)
		g.outputs[edge.From] = append(g.outputs[edge.From], x)
	}
}

// Blocking tells whether the job has blocking edges.
func (g *Graph) Blocking() bool { return len(g.exchanges) > 0 }

// runs gives the members of a region that are subtasks of the same vertex: all subtasks, or one.
func (g *Graph) runs(r int) iter.Seq2[int, []int] {
	return func(yield func(int, []int) bool) {
		members := g.regions[r].members
		for len(members) > 0 {
			v, n := g.executions[members[0]].ID.Vertex, 1
			for n < len(members) && g.executions[members[n]].ID.Vertex == v {
				n++
			}
			if !yield(v, members[:n]) {
				return
			}
			members = members[n:]
		}
	}
}

// ends gives the exchanges between a region and others, of a list by vertex, and the subtasks of the region at this end.
func (g *Graph) ends(r int, of [][]*exchange) iter.Seq2[*exchange, []int] {
	return func(yield func(*exchange, []int) bool) {
		if !g.Blocking() {
			return
		}
		for v, members := range g.runs(r) {
			for _, x := range of[v] {
				if !x.inner && !yield(x, members) {
					return
				}
			}
		}
	}
}

// across gives the indexes of the other end's subtasks with which members of a region are connected: vertex is at that end.
func (g *Graph) across(x *exchange, vertex jobgraph.VertexID, members []int) (from, to int) {
	if x.Pattern == jobgraph.AllToAll {
		return g.first[vertex], g.first[vertex] + g.job.Vertices[vertex].Parallelism
	}
	subtask := g.executions[members[0]].ID.Subtask // pointwise exchanges connect single subtasks, or all
	return g.first[vertex] + subtask, g.first[vertex] + subtask + len(members)
}

// Consumers gives the regions that read from a region. A region may come several times.
func (g *Graph) Consumers(r int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for x, members := range g.ends(r, g.outputs) {
			if !g.regionsOf(x, x.To, members, yield) {
				return
			}
		}
	}
}

// Revoke gives the regions that may have begun to read what a region has written, which is Dropped now. Those that have begun must
// run again, and the caller must see to that. So those of an all-to-all exchange come once, until all its partitions are there again.
// A region may come several times.
func (g *Graph) Revoke(r int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for x, members := range g.ends(r, g.outputs) {
			if x.revoked {
				continue
			}
			if !g.regionsOf(x, x.To, members, yield) {
				return
			}
			x.revoked = x.Pattern == jobgraph.AllToAll
		}
	}
}

// regionsOf gives the regions at the other end of an exchange, the same one in a row once.
func (g *Graph) regionsOf(x *exchange, vertex jobgraph.VertexID, members []int, yield func(int) bool) bool {
	last := -1
	for i, to := g.across(x, vertex, members); i < to; i++ {
		if r := g.executions[i].Region; r != last {
			if last = r; !yield(r) {
				return false
			}
		}
	}
	return true
}

// Readable tells whether all partitions are available that a region reads from others.
func (g *Graph) Readable(r int) bool {
	for x, members := range g.ends(r, g.inputs) {
		if x.available == len(x.partitions) {
			continue
		}
		for i, to := g.across(x, x.From, members); i < to; i++ {
			if x.Pattern == jobgraph.AllToAll || x.partitions[g.executions[i].ID.Subtask].state != available {
				return false
			}
		}
	}
	return true
}

// Recall gives the regions whose tasks have finished without the partitions that a region reads: they make them only if they run
// again, and the caller must see to that. So those of an all-to-all exchange come once for all its consumers, until others are gone. A
// region may come several times.
func (g *Graph) Recall(r int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for x, members := range g.ends(r, g.inputs) {
			if x.recalled || x.available == len(x.partitions) {
				continue
			}
			last := -1
			for i, to := g.across(x, x.From, members); i < to; i++ {
				e := &g.executions[i]
				if x.partitions[e.ID.Subtask].state == available || e.Region == last || e.State != msg.ExecutionFinished {
					continue
				}
				if last = e.Region; !yield(last) {
					return
				}
			}
			x.recalled = x.Pattern == jobgraph.AllToAll
		}
	}
}

// Readers gives the regions that may have become Readable when an execution has written its partitions. A region may come several
// times.
func (g *Graph) Readers(e *Execution) iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, x := range g.outputs[e.ID.Vertex] {
			if !x.inner && (x.Pattern == jobgraph.Pointwise || x.available == len(x.partitions)) &&
				!g.regionsOf(x, x.To, []int{g.first[e.ID.Vertex] + e.ID.Subtask}, yield) {
				return
			}
		}
	}
}

// Sources gives the executions whose partitions an execution reads over pointwise edges, and over all-to-all edges if all is set.
// An execution may come several times.
func (g *Graph) Sources(e *Execution, all bool) iter.Seq[*Execution] {
	return func(yield func(*Execution) bool) {
		for _, x := range g.inputs[e.ID.Vertex] {
			if x.Pattern == jobgraph.AllToAll && !all {
				continue
			}
			for i, to := g.across(x, x.From, []int{g.first[e.ID.Vertex] + e.ID.Subtask}); i < to; i++ {
				if !yield(&g.executions[i]) {
					return
				}
			}
		}
	}
}

// ReadsAt gives the executions at a worker whose available partitions a region reads. An execution may come several times.
func (g *Graph) ReadsAt(r int, worker ids.ResourceID) iter.Seq[*Execution] {
	return func(yield func(*Execution) bool) {
		for x, members := range g.ends(r, g.inputs) {
			for i, to := g.across(x, x.From, members); i < to; i++ {
				e := &g.executions[i]
				if e.Resource == worker && x.partitions[e.ID.Subtask].state == available && !yield(e) {
					return
				}
			}
		}
	}
}

// Reads tells whether an execution reads a partition of the job.
func (g *Graph) Reads(e *Execution, p ids.PartitionID) bool {
	for _, x := range g.inputs[e.ID.Vertex] {
		if int(x.From) == p.Execution.Vertex && x.Output == p.Output {
			return x.Pattern == jobgraph.AllToAll || e.ID.Subtask == p.Execution.Subtask
		}
	}
	return false
}

// isRead tells whether some region still has to read what an execution writes into an exchange.
func (g *Graph) isRead(x *exchange, e *Execution) bool {
	if x.Pattern == jobgraph.AllToAll {
		return x.reading > 0
	}
	return !g.regions[g.executions[g.first[x.To]+e.ID.Subtask].Region].consumed
}
