package jobmaster

import (
	"github.com/bobbin-yarn/bobbin/appmaster/internal/patience"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/executiongraph"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/failover"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// The workers of a job that was taken over tell which of its tasks have finished under earlier masters. Before the job runs any
// task, it waits for them: until all have told that the ResourceManager knows to have partitions of the job, but only for a time,
// because a worker may be frozen. Then it goes on with the regions that have finished as a whole; see adopted.

// heldTime is when the job goes on without the workers that have not told yet. The time of a job that was taken over begins with the
// JobMaster: workers cannot register before, and HDFS may have kept it waiting since the job was taken over. It runs also while the job
// does not wait, because the job may still turn out to have run in waves.
func (c *core) heldTime() (*patience.Deadline, bool) {
	return &c.heldUntil, !c.heldUntil.IsZero() && c.active()
}

// awaitHeld lets a job wait that was taken over, if workers can hold partitions of it.
func (c *core) awaitHeld() {
	c.awaitsHeld = c.graph.Blocking() && !c.heldUntil.Passed(c.now) && !c.knowsAll()
}

// endHeldTime goes on without the workers that have not told yet.
func (c *core) endHeldTime() {
	c.heldUntil = patience.Deadline{}
	if c.awaitsHeld {
		c.takeHeld()
	}
}

// partitionsHeld handles what a worker holds from before its present connection.
func (c *core) partitionsHeld(w *worker, m msg.HeldPartitions) {
	for _, t := range m.Tasks {
		e, err := c.graph.Current(t.Execution)
		switch {
		case err == nil && e.State == msg.ExecutionFinished && e.Resource == w.resource:
			if c.awaitsHeld && c.graph.CheckOutputs(e, t.Partitions) == nil { // they are missing if the worker has counted as lost
				c.graph.Write(e, t.Partitions)
			}
			c.keepTold(w, t) // divide uses only what was told over the newest connection
		default:
			c.finishedBefore(w, t)
			e, err = c.graph.Current(t.Execution)
		}
		if w.holds != nil && err == nil && e.State == msg.ExecutionFinished && e.Resource == w.resource {
			w.holds[e.ID] = true
		}
		c.freeReported(w, t, c.graph.Available)
	}
	if !m.Last {
		return
	}
	if w.holds != nil {
		c.partitionsLost(w, failover.Cause{
			Kind: failover.WorkerLost, Time: c.now, Location: w.node, Resource: w.resource, Host: ids.PartitionHost(w.resource),
			Failure: *msg.NewFailure("worker "+string(w.resource)+" connected again, and has lost partitions", ""),
		}, w.holds)
		w.holds = nil
	}
	w.told = true
	c.toldAll(w.resource)
}

// previousReturned handles that all workers of earlier masters have returned or ended, and that these have partitions of the job.
func (c *core) previousReturned(workers []ids.ResourceID) {
	c.returned, c.untold = true, make(map[ids.ResourceID]bool)
	for _, id := range workers {
		if w := c.byResource[id]; w == nil || !w.told {
			c.untold[id] = true
		}
	}
	c.endWait()
}

// toldAll notes that nothing more comes from a worker of what it holds of earlier masters: it has told all, or has ended.
func (c *core) toldAll(worker ids.ResourceID) {
	delete(c.untold, worker)
	c.endWait()
}

// knowsAll tells whether the job knows all that workers hold of earlier masters.
func (c *core) knowsAll() bool { return c.returned && len(c.untold) == 0 }

// endWait goes on with the job if nothing more can come for which it waits.
func (c *core) endWait() {
	if c.awaitsHeld && c.active() && (c.allHeld() || c.knowsAll()) {
		c.takeHeld()
	}
}

// finishedBefore handles that a task has finished under an earlier master.
func (c *core) finishedBefore(w *worker, t msg.TaskStateChange) {
	c.followWaves(t)
	c.adopt(w, t)
	c.keepTold(w, t)
}

// adopt takes over a task of an earlier master that has finished, until takeHeld decides. Of several runs of
// its region the last one counts.
func (c *core) adopt(w *worker, t msg.TaskStateChange) {
	id := t.Execution
	e := c.graph.At(id.Vertex, id.Subtask)
	if e == nil || !c.awaitsHeld || t.State != msg.ExecutionFinished || id.Epoch >= c.config.Epoch || !canAdopt(c.config.Graph.Vertices[id.Vertex]) {
		return
	}
	r := e.Region
	if c.covered[r] || c.isFinal(r) || c.graph.CheckOutputs(e, t.Partitions) != nil {
		return
	}
	run := run{id.Epoch, id.Attempt}
	if known, begun := c.runs[r]; begun && known.before(run) {
		c.disown(r)
	} else if begun && (known != run || e.State == msg.ExecutionFinished) {
		return
	}
	if e.State != msg.ExecutionCreated || c.counters.fit(r, id.Vertex, t.Counters) != nil {
		return
	}
	c.runs[r] = run
	c.inputs[id] = t.Inputs
	c.graph.Adopt(e, t, w.resource, w.node, c.now)
	c.counters.add(r, id.Vertex, t.Counters)
	c.graph.Write(e, t.Partitions)
	c.reportUser(e, t.User)
}

// canAdopt tells whether tasks of a vertex can be taken over: an earlier master has got what tasks collect and commit.
func canAdopt(v jobgraph.Vertex) bool { return !v.Commit && v.Collect == "" }

// run is a run of a region under an earlier master. All its tasks have the same number, because a region restarts as a whole.
type run struct {
	epoch   ids.Epoch
	attempt int
}

func (r run) before(other run) bool {
	return r.epoch < other.epoch || r.epoch == other.epoch && r.attempt < other.attempt
}

// disown takes back what was adopted of a region.
func (c *core) disown(r int) {
	delete(c.runs, r)
	c.counters.restart(r)
	for e := range c.graph.Region(r) {
		if e.State == msg.ExecutionFinished {
			c.free(e.Resource, c.graph.Drop(e)...)
			c.user.Drop(e.ID.Vertex, e.ID.Subtask)
			c.graph.Disown(e, c.now)
		}
	}
}

// allHeld tells whether all tasks that write partitions have finished, so nothing more can come.
func (c *core) allHeld() bool {
	for _, edge := range c.config.Graph.Edges {
		if edge.Kind == jobgraph.Blocking && c.graph.Counts(int(edge.From))[msg.ExecutionFinished] < c.config.Graph.Vertices[edge.From].Parallelism {
			return false
		}
	}
	return true
}

// takeHeld ends the wait: the job goes on with what was adopted and is of use, and schedules the rest.
func (c *core) takeHeld() {
	c.awaitsHeld = false
	adopted := c.adopted()
	var rest []int
	for r := range c.regions {
		switch {
		case c.isOver(r):
		case adopted[r]:
			c.regions[r].phase = deployed
			c.pool.Finish(r, c.now)
		default:
			if !c.isFinal(r) {
				c.disown(r)
			}
			rest = append(rest, r)
		}
	}
	c.forgetHeld()
	for r := range c.regions {
		if adopted[r] {
			c.consumed(r)
		}
	}
	for _, r := range rest {
		if c.regions[r].phase == blocked { // otherwise another region has scheduled it
			c.schedule(r)
		}
	}
}

// forgetHeld forgets what workers have told.
func (c *core) forgetHeld() {
	clear(c.runs)
	clear(c.inputs)
	clear(c.given)
	c.told = told{}
}

// adopted gives the regions that have finished under earlier masters, and need not run again:
//
//   - All tasks of the region have finished in the same run.
//   - The subtasks of a source share its splits. All subtasks have finished, and together they have read each split once. If an attempt
//     was lost, others may have read its splits again.
//   - It has read what the adopted attempts have written. An attempt that has read others was cancelled, or was to run again, and
//     its worker has not heard of it.
//   - No partition is gone that a region has to read which runs.
//   - It has not read from a component of which a region runs that others read. They read other records now: the records of the same
//     source, but divided otherwise among its subtasks.
func (c *core) adopted() []bool {
	adopted := make([]bool, len(c.regions))
	for r := range c.regions {
		_, some := c.runs[r]
		adopted[r] = some && c.graph.RegionEnded(r)
	}
	finished := func(r int) bool { return adopted[r] || c.covered[r] || c.isFinal(r) }
	for changed := true; changed; {
		changed = false
		drop := func(r int) {
			changed = changed || adopted[r]
			adopted[r] = false
		}
		for v, vertex := range c.config.Graph.Vertices {
			if vertex.Source && !c.splitsRead(v, finished, adopted) {
				for _, e := range c.graph.Vertex(v) {
					drop(e.Region)
				}
			}
		}
		lineage := c.graph.Lineage()
		for r := range c.regions {
			for e := range c.graph.Region(r) {
				if adopted[r] && !lineage.Agrees(e, c.inputs[e.ID], finished) {
					drop(r)
				}
			}
		}
		runs := func(r int) bool { return !finished(r) }
		for r := range c.graph.Needed(runs) {
			drop(r)
		}
		for r := range c.graph.ReadAnew(runs) {
			drop(r)
		}
	}
	return adopted
}

// splitsRead tells whether the subtasks of a source have finished, and those that can be adopted have read each split once.
func (c *core) splitsRead(v int, finished func(int) bool, adopted []bool) bool {
	some, sum := false, uint64(0)
	for _, e := range c.graph.Vertex(v) {
		switch inputs := c.inputs[e.ID]; {
		case !finished(e.Region):
			return false
		case !adopted[e.Region]: // a record has the subtask, and with it all others of the vertex
		case len(inputs) != 1:
			return false
		default:
			some, sum = true, sum+inputs[0]
		}
	}
	return !some || sum == executiongraph.AllSplits(len(c.config.Graph.Vertices[v].Splits))
}
