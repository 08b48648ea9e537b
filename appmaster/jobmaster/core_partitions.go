package jobmaster

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/executiongraph"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/failover"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// A region reads blocking partitions that other regions have made. While some are missing, it is blocked.
//
//	blocked ──▶ waiting ──▶ deployed ──▶ (finished)
//	   ▲           │           │              │
//	   └───────────┴───────────┴──────────────┘ an input is lost, or it must run again
//
// If a region runs again, it may write other records than before, or the same in another order. So all regions that have begun to
// read from it run again, too, unless they are done: nobody reads from them any more, or their output is committed. And if it reads
// partitions that are lost or released, the regions that make them run again. This is Flink's rule.

// canRun tells whether a region has its inputs.
func (c *core) canRun(r int) bool {
	switch {
	case c.isRecorded(r):
		return true // its commit tasks know the winners
	case c.dividing != "":
		return false
	case c.awaitsHeld || !c.graph.Readable(r):
		return false
	case c.commitsOnly(r) && !c.graph.MayCommit(r):
		c.onHold = append(c.onHold, r)
		return false
	}
	return true
}

// block lets a region wait for its inputs. The regions run again whose tasks have finished, and whose partitions are lost or released.
func (c *core) block(r int) {
	c.regions[r] = region{phase: blocked}
	c.pool.Block(r, c.now)
	if c.awaitsHeld {
		return
	}
	for producer := range c.graph.Recall(r) {
		c.runAgain(producer)
	}
}

// unblock schedules a region if it has its inputs now.
func (c *core) unblock(r int) {
	if c.regions[r].phase == blocked && c.active() && !(c.restartsAll() && len(c.failing) > 0) && c.canRun(r) {
		c.schedule(r)
	}
}

// runsNoMore tells whether no task of a region writes its partitions again.
func (c *core) runsNoMore(r int) bool { return c.graph.Done(r) || c.isFinal(r) }

// runAgain lets a region run again because of what has happened to others.
func (c *core) runAgain(r int) {
	switch {
	case c.runsNoMore(r):
	case c.regions[r].phase == waiting:
		for e := range c.tasks(r) {
			c.mustTransition(e, msg.ExecutionCreated)
		}
		c.block(r)
	case c.regions[r].phase == deployed:
		c.beginFailover(r)
		c.cancelTasks(c.tasks(r))
		c.delay(r, 0)
	}
}

// spoil drops what a region that runs again has written, and lets those run again that have begun to read it.
func (c *core) spoil(r int) {
	if !c.graph.Blocking() || c.isFinal(r) {
		return
	}
	c.graph.ReadAgain(r)
	for e := range c.graph.Region(r) {
		c.free(e.Resource, c.graph.Drop(e)...)
	}
	if c.restartsAll() {
		return
	}
	for consumer := range c.graph.Revoke(r) {
		c.runAgain(consumer)
	}
	// This master does not know which splits the tasks of an earlier one have read. So all subtasks read them again.
	for e := range c.graph.Region(r) {
		v := e.ID.Vertex
		if !c.config.Graph.Vertices[v].Source || e.ID.Epoch == c.config.Epoch || c.reread[v] {
			continue
		}
		c.reread[v] = true
		for subtask := range c.config.Graph.Vertices[v].Parallelism {
			c.runAgain(c.graph.At(v, subtask).Region)
		}
	}
}

// written takes the partitions of a task that has finished.
func (c *core) written(e *executiongraph.Execution, written []msg.WrittenPartition) {
	c.free(e.Resource, c.graph.Write(e, written)...)
	for r := range c.graph.Readers(e) {
		c.unblock(r)
	}
}

// consumed says that a region never reads its inputs again, unless it runs again.
func (c *core) consumed(r int) {
	for _, p := range c.graph.Consume(r) {
		c.free(p.Resource, p.Partition)
	}
	c.settle(r)
}

// settle makes the counters of regions final that never run again. If their job commits outputs, the record of a commit has
// their counters.
func (c *core) settle(r int) {
	for _, done := range c.graph.Settle(r) {
		c.settled = true
		if !c.layout.commits[c.partOf(done)] {
			c.counters.settle(done)
		}
	}
}

// partOf is the part of the job that has a region; see layout.
func (c *core) partOf(r int) int {
	return c.layout.parts[c.graph.Component(r)]
}

// goOn looks again at the regions that wait until others are done. False: none has become done since.
func (c *core) goOn() bool {
	if c.endAsking(); !c.settled {
		return false
	}
	c.settled = false
	waiting := c.onHold
	c.onHold = nil
	for _, r := range waiting {
		c.unblock(r)
		if c.commits[r] != nil && c.regions[r].phase == deployed {
			c.completeCommit(r)
		}
	}
	return true
}

// partitionLost handles that a task could not read a partition, though its worker lives. It is a failure of the region that has
// made the partition, so it counts once for all its readers. False: the task reads no such partition now.
//
// A single file may be damaged. If another one is lost that was on the same disk then, the disk has failed: all that it has is written
// again, and that is no further failure.
func (c *core) partitionLost(e *executiongraph.Execution, cause failover.Cause) bool {
	p := cause.Failure.PartitionLost
	if p == nil || !c.graph.Reads(e, *p) {
		return false
	}
	producer, err := c.graph.Current(p.Execution)
	if err != nil || cause.Failure.Permanent || !c.active() || !c.graph.Available(*p) || c.isFinal(producer.Region) {
		return false
	}
	w, disk := c.byResource[producer.Resource], c.graph.DiskOf(*p)
	if producer.Ended().Before(w.lost[disk]) && !c.restartsAll() {
		producers := slices.Collect(c.graph.OnDisk(w.resource, disk))
		c.emit(diskFailed{Resource: w.resource, Node: w.node, Disk: disk, Tasks: len(producers)})
		c.writeAgain(w, producers)
	} else {
		w.lost[disk] = c.now
		c.free(w.resource, c.graph.Drop(producer)...) // the file, and the task's others: all are written again
		c.regionFailed(producer.Region, cause)
	}
	if suspect, _ := c.regions[e.Region].incident.Suspect(); suspect != "" && c.regions[e.Region].phase == failing {
		c.delay(e.Region, 0) // it runs again because of its input, whatever it blames
	}
	return true
}

// partitionsLost handles that partitions of a worker are gone. keep says which ones it still has.
func (c *core) partitionsLost(w *worker, cause failover.Cause, keep map[ids.ExecutionAttemptID]bool) {
	if !c.graph.Blocking() {
		return
	}
	var regions []int
	for e := range c.graph.All() {
		if e.Resource != w.resource || e.State != msg.ExecutionFinished || keep[e.ID] {
			continue
		}
		if c.graph.Lose(e) {
			regions = append(regions, e.Region)
		}
	}
	slices.Sort(regions)
	for _, r := range slices.Compact(regions) {
		c.regionFailed(r, cause)
	}
}

// free releases partitions of a worker.
func (c *core) free(worker ids.ResourceID, partitions ...ids.PartitionID) {
	if w := c.byResource[worker]; w != nil {
		follows := c.mayFollow()
		for _, p := range partitions {
			c.freed.add(w, p)
			if follows && p.Execution.Epoch < c.config.Epoch {
				c.given[p] = true
			}
		}
	}
}

// freeReported releases the partitions that a worker has reported and nobody needs. needed tells which ones are.
func (c *core) freeReported(w *worker, m msg.TaskStateChange, needed func(ids.PartitionID) bool) {
	e, err := c.graph.Current(m.Execution)
	for _, written := range m.Partitions {
		if p := (ids.PartitionID{Execution: m.Execution, Output: written.Output}); err != nil || e.Resource != w.resource || !needed(p) {
			c.free(w.resource, p)
		}
	}
}

// release tells the workers which partitions nobody reads any more.
func (c *core) release() {
	for _, w := range c.freed.workers {
		for part := range slices.Chunk(c.freed.parts[w], msg.MaxHeld) {
			c.send(w, msg.ReleasePartitions{Partitions: slices.Clip(part)})
		}
	}
	c.freed = byWorker[ids.PartitionID]{}
}
