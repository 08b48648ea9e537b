package executiongraph

import (
	"fmt"
	"iter"
	"slices"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// A blocking partition is one blocking output of one execution. It belongs to the current attempt of its producer, and is where
// this attempt has run.
//
//	missing ──▶ available ──▶ released
//	   ▲            │            │
//	   └────────────┴────────────┘ lost, or the producer runs again
//
// A region reads partitions until it is Consumed. A component of the graph is done, with all its regions, when nothing makes it run
// again: all its regions are consumed, and all components that read from it are done. Single regions are not done: if their
// producers run again, the subtasks of a source may divide its splits in another way, and the regions of a component need records that
// belong together.
//
// An exchange counts partitions and consumers, so its memory is proportional to the number of its producers, whatever the number of
// its channels.

// partitionState is the progress of a partition.
type partitionState uint8

const (
	missing   partitionState = iota // its producer has not finished, or it is lost
	available                       // a worker serves it
	released                        // nobody reads it any more, so the worker has removed it
)

type partition struct {
	state          partitionState
	records, bytes int64
	disk           int // of its worker: see msg.WrittenPartition
}

// exchange is a blocking edge.
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

// component is the regions of a component.
type component struct {
	regions  []int
	consumed int // of them
	done     bool
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

// Component is the first vertex of the component of the graph that a region belongs to: see jobgraph.Components.
func (g *Graph) Component(r int) int {
	return int(g.component[g.executions[g.regions[r].members[0]].ID.Vertex])
}

func (g *Graph) componentOf(r int) *component { return &g.components[g.Component(r)] }

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

// DiskOf gives the disk of a partition that is Available.
func (g *Graph) DiskOf(p ids.PartitionID) int {
	e := g.At(p.Execution.Vertex, p.Execution.Subtask)
	return g.exchangeOf(e, p.Output).partitions[e.ID.Subtask].disk
}

// OnDisk gives the executions at a worker that have available partitions on one of its disks.
func (g *Graph) OnDisk(worker ids.ResourceID, disk int) iter.Seq[*Execution] {
	return func(yield func(*Execution) bool) {
		for e := range g.All() {
			if e.Resource == worker && slices.ContainsFunc(g.outputs[e.ID.Vertex], func(x *exchange) bool {
				p := x.partitions[e.ID.Subtask]
				return p.state == available && p.disk == disk
			}) && !yield(e) {
				return
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

// CheckWritten checks the partitions that an execution reports with its end. There must be one for each blocking output.
func (g *Graph) CheckWritten(e *Execution, written []msg.WrittenPartition) error {
	if err := g.CheckOutputs(e, written); err != nil {
		return err
	}
	if outputs := len(g.outputs[e.ID.Vertex]); len(written) < outputs {
		return fmt.Errorf("task has finished and reports %d partitions of %d", len(written), outputs)
	}
	return nil
}

// CheckOutputs checks partitions that an execution may have written.
func (g *Graph) CheckOutputs(e *Execution, written []msg.WrittenPartition) error {
	for i, w := range written {
		again := slices.ContainsFunc(written[:i], func(other msg.WrittenPartition) bool { return other.Output == w.Output })
		if again || g.exchangeOf(e, w.Output) == nil || w.Records < 0 || w.Bytes < 0 {
			return fmt.Errorf("task reports a partition of output %d with %d records and %d bytes, which it cannot have", w.Output, w.Records, w.Bytes)
		}
	}
	return nil
}

func (g *Graph) exchangeOf(e *Execution, output int) *exchange {
	for _, x := range g.outputs[e.ID.Vertex] {
		if x.Output == output {
			return x
		}
	}
	return nil
}

// Write makes the partitions of an execution available, and gives those that no region reads any more: they are released.
// CheckWritten has checked them.
func (g *Graph) Write(e *Execution, written []msg.WrittenPartition) (free []ids.PartitionID) {
	for _, w := range written {
		x := g.exchangeOf(e, w.Output)
		p := &x.partitions[e.ID.Subtask]
		if p.state == available {
			x.bytes -= p.bytes
		} else {
			x.available++
			x.revoked = x.revoked && x.available < len(x.partitions)
		}
		x.bytes += w.Bytes
		*p = partition{state: available, records: w.Records, bytes: w.Bytes, disk: w.Dir}
		if !g.isRead(x, e) {
			free = append(free, g.unserve(e, released, x)...)
		}
	}
	return free
}

// Available tells whether a partition of a current attempt is available.
func (g *Graph) Available(p ids.PartitionID) bool { return g.stateOf(p) == available }

// Known tells whether a partition of a current attempt is available or released.
func (g *Graph) Known(p ids.PartitionID) bool { return g.stateOf(p) != missing }

func (g *Graph) stateOf(p ids.PartitionID) partitionState {
	e, err := g.Current(p.Execution)
	if err != nil {
		return missing
	}
	if x := g.exchangeOf(e, p.Output); x != nil {
		return x.partitions[e.ID.Subtask].state
	}
	return missing
}

// Served counts the partitions that workers serve.
func (g *Graph) Served() (sum msg.ServedPartitions) {
	for _, x := range g.exchanges {
		sum.Add(msg.ServedPartitions{Number: x.available, Bytes: config.Bytes(x.bytes)})
	}
	return sum
}

// Servers are the workers that serve partitions.
func (g *Graph) Servers() map[ids.ResourceID]bool {
	servers := make(map[ids.ResourceID]bool)
	for _, x := range g.exchanges {
		for subtask, p := range x.partitions {
			if p.state == available {
				servers[g.executions[g.first[x.From]+subtask].Resource] = true
			}
		}
	}
	return servers
}

// Drop makes the available partitions of an execution missing, and gives them.
func (g *Graph) Drop(e *Execution) []ids.PartitionID {
	return g.unserve(e, missing, g.outputs[e.ID.Vertex]...)
}

// Lose makes the available partitions of an execution missing. It tells whether some region still has to read one.
func (g *Graph) Lose(e *Execution) (needed bool) {
	for _, x := range g.outputs[e.ID.Vertex] {
		if x.partitions[e.ID.Subtask].state != available {
			continue
		}
		needed = needed || g.isRead(x, e)
		g.unserve(e, missing, x)
	}
	return needed
}

// isRead tells whether some region still has to read what an execution writes into an exchange.
func (g *Graph) isRead(x *exchange, e *Execution) bool {
	if x.Pattern == jobgraph.AllToAll {
		return x.reading > 0
	}
	return !g.regions[g.executions[g.first[x.To]+e.ID.Subtask].Region].consumed
}

// unserve changes the state of the available partitions of an execution.
func (g *Graph) unserve(e *Execution, to partitionState, of ...*exchange) (changed []ids.PartitionID) {
	for _, x := range of {
		p := &x.partitions[e.ID.Subtask]
		if p.state == available {
			x.available--
			x.recalled = false
			x.bytes -= p.bytes
			changed = append(changed, ids.PartitionID{Execution: e.ID, Output: x.Output})
		}
		if p.state == available || to == missing {
			*p = partition{state: to}
		}
	}
	return changed
}

// Held is a partition and where it is.
type Held struct {
	Partition ids.PartitionID
	Resource  ids.ResourceID // the worker that serves it
}

// Consume says that a region has read its inputs, and gives the partitions that no region reads any more. They are released
// now.
func (g *Graph) Consume(r int) (free []Held) {
	if g.regions[r].consumed {
		return nil
	}
	g.regions[r].consumed = true
	g.componentOf(r).consumed++
	for v, members := range g.runs(r) {
		for _, x := range g.inputs[v] {
			x.reading -= len(members)
			if x.Pattern == jobgraph.AllToAll && x.reading > 0 {
				continue
			}
			for i, to := g.across(x, x.From, members); i < to; i++ {
				e := &g.executions[i]
				for _, p := range g.unserve(e, released, x) {
					free = append(free, Held{p, e.Resource})
				}
			}
		}
	}
	return free
}

// ReadAgain says that a region runs again, and reads its inputs again.
func (g *Graph) ReadAgain(r int) {
	region := &g.regions[r]
	if !region.consumed {
		return
	}
	region.consumed = false
	c := g.componentOf(r)
	c.consumed--
	c.done = false
	for v, members := range g.runs(r) {
		for _, x := range g.inputs[v] {
			x.reading += len(members)
		}
	}
}

// Done tells whether nothing can make a region run again, but the restart of all regions.
func (g *Graph) Done(r int) bool { return g.componentOf(r).done }

// Settle makes the component of a region done if it can be, and then those from which it reads. It gives the regions that have
// become done.
func (g *Graph) Settle(r int) (done []int) { return g.settle(g.Component(r)) }

func (g *Graph) settle(at int) (done []int) {
	c := &g.components[at]
	if c.done || c.consumed < len(c.regions) || slices.ContainsFunc(g.exchanges, func(x *exchange) bool {
		return !x.inner && int(g.component[x.From]) == at && !g.components[g.component[x.To]].done
	}) {
		return nil
	}
	c.done = true
	done = slices.Clone(c.regions)
	for _, x := range g.exchanges {
		if !x.inner && int(g.component[x.To]) == at {
			done = append(done, g.settle(int(g.component[x.From]))...)
		}
	}
	return done
}

// MayCommit tells whether the output that the tasks of a region commit is written for good: each region whose tasks write it never
// runs again, because all others that read from it are done.
func (g *Graph) MayCommit(r int) bool {
	if !g.Blocking() {
		return true
	}
	writes := make(map[jobgraph.VertexID]bool) // by component
	var own jobgraph.VertexID
	for v := range g.runs(r) {
		own = g.component[v]
		writes[own] = true
		if g.job.Vertices[v].Commit {
			for _, x := range g.inputs[v] {
				writes[g.component[x.From]] = true
			}
		}
	}
	for _, x := range g.exchanges {
		if !x.inner && writes[g.component[x.From]] && g.component[x.To] != own && !g.components[g.component[x.To]].done {
			return false
		}
	}
	return true
}
