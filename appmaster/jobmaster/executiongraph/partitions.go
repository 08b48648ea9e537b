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
