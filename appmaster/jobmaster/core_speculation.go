package jobmaster

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/patience"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/executiongraph"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/failover"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/slowtask"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// A slow task gets further attempts on other nodes, which run at the same time (execution.batch.speculative.enabled; Flink's
// SpeculativeScheduler). The first one to finish becomes the current attempt, and the others are cancelled. If the current attempt
// fails, another one takes its place, and the region goes on.
//
// Only a task that is a region of its own can have them: what it reads and writes are blocking partitions. It must not commit or
// collect: the core has one commit task for each output, and one order of collected records. All attempts of a source task read the
// same splits. They write outputs under their own names, of which the commit task takes the winner's.
//
// A further attempt runs in a slot of its own. It waits for one as a region that is added to the pool, after all regions of the job.

// triesPerAttempt bounds the attempts that fail: a task gets this number for each that may run beside its first one.
const triesPerAttempt = 3

// elsewhere is how long other tasks of a job wait for slots on other nodes while it avoids all nodes of its workers. YARN usually needs
// less time for new workers.
const elsewhere = 10 * time.Second

// speculation is the further attempts of a job.
type speculation struct {
	avoided time.Time          // when a node was avoided last
	returns patience.Wait      // then the job uses these nodes again: see returnTime
	next    time.Time          // the next look for slow tasks; zero: the job has none
	slow    failover.Blocklist // nodes on which tasks were found slow
	of      map[int]*further   // by region of the job, from the first further attempt of its task to the end of the region
	asks    map[int]int        // regions of the pool that wait for a slot, and for which region of the job
	slots   map[ids.ExecutionAttemptID]int
}

// further is the further attempts of a task.
type further struct {
	asks  []int // regions of the pool that wait for a slot
	tries int   // attempts that it has had, or waits for
}

func newSpeculation() speculation {
	return speculation{of: make(map[int]*further), asks: make(map[int]int), slots: make(map[ids.ExecutionAttemptID]int)}
}

// beginSpeculation begins to look for slow tasks.
func (c *core) beginSpeculation() {
	if c.config.Speculation.Enabled && c.config.Speculation.Attempts > 1 {
		c.speculation.next = c.now.Add(c.config.Speculation.Slow.Interval)
	}
}

// speculates tells when the core looks for slow tasks again; false: it does not.
func (c *core) speculates() (time.Time, bool) {
	return c.speculation.next, c.active() && !c.speculation.next.IsZero()
}

// findSlow asks for further attempts of the tasks that are slow.
func (c *core) findSlow() {
	c.speculation.next = c.now.Add(c.config.Speculation.Slow.Interval)
	for v, vertex := range c.config.Graph.Vertices {
		if vertex.Commit || vertex.Collect != "" || !c.config.Speculation.Slow.Enough(c.graph.Counts(v)[msg.ExecutionFinished], vertex.Parallelism) {
			continue
		}
		var finished []slowtask.Work
		var running []*executiongraph.Execution
		executions := c.graph.Vertex(v)
		for s := range executions {
			switch e := &executions[s]; {
			case e.State == msg.ExecutionFinished && !e.Started().IsZero(): // an earlier master knew the start of others
				finished = append(finished, slowtask.Work{Took: e.Ended().Sub(e.Started()), Read: e.Metrics.Traffic.ReadBytes})
			case c.mayHaveFurther(e):
				running = append(running, e)
			}
		}
		if len(finished) > 0 && len(running) > 0 {
			c.askForSlow(c.config.Speculation.Slow.Baseline(finished), running)
		}
	}
}

// mayHaveFurther tells whether another attempt of a task may run beside this one.
func (c *core) mayHaveFurther(e *executiongraph.Execution) bool {
	return (e.State == msg.ExecutionDeploying || e.State == msg.ExecutionRunning) && c.graph.Alone(e) && c.regions[e.Region].phase == deployed
}

// askForSlow asks for further attempts of those of these tasks that are slow, and sets their nodes aside.
func (c *core) askForSlow(baseline slowtask.Baseline, running []*executiongraph.Execution) {
	for _, e := range running {
		took := c.now.Sub(e.Started())
		if !baseline.Slow(slowtask.Work{Took: took, Read: e.Metrics.Traffic.ReadBytes}) {
			continue
		}
		f := c.speculation.of[e.Region]
		if f == nil {
			f = &further{}
		}
		most := c.config.Speculation.Attempts - 1
		want := min(most-len(f.asks)-len(c.graph.Beside(e)), most*triesPerAttempt-f.tries)
		if want <= 0 {
			continue
		}
		c.speculation.of[e.Region] = f
		c.emit(taskSlow{Task: c.graph.TaskName(e), Node: e.Node, Took: took, Baseline: baseline.Time})
		c.avoid(e.Node, fmt.Sprintf("task %s is slow: it runs for %s, and others took less than %s", c.graph.TaskName(e), took, baseline.Time))
		for range want {
			ask := c.pool.Add(c.layout.kinds[c.layout.sharedSlot(e)], c.now)
			f.asks = append(f.asks, ask)
			f.tries++
			c.speculation.asks[ask] = e.Region
			c.supplied = true
		}
	}
}

// avoid gives no more tasks to a node for a time.
func (c *core) avoid(node, cause string) {
	c.speculation.slow.Block(c.now.Add(c.config.Speculation.BlockTime), node, clip(cause, maxReason))
	c.speculation.avoided = c.now
	c.tellBlocked() // before leaveSlow: otherwise the ResourceManager would grant the freed slots to this job again
	for _, w := range c.workers {
		if w.node == node {
			c.pool.SetReady(w.resource, false)
		}
	}
}

// avoids tells whether the job gives no more tasks to a worker because a task on its node is slow.
func (c *core) avoids(w *worker) bool { return c.speculation.slow.Blocks(w.node) }

// leaveSlow gives back the free slots of the nodes that the job avoids, so that it gets others for what waits. A cancelled task may still
// run in such a slot.
func (c *core) leaveSlow() {
	if c.speculation.slow.Empty() {
		return
	}
	for _, w := range c.workers {
		if c.avoids(w) && c.graph.Canceling(w.host) == 0 {
			c.freeSlots(c.pool.GiveUpFreeOf(w.resource, c.now), fmt.Sprintf("a task on node %s is slow", w.node))
		}
	}
}

// useSlowNodes lets the job use the nodes again that it avoids for their slow tasks, once their time has passed or at once. A
// further attempt must not get a slot on the node of the slow one. So it waits no more, until a later look finds the task slow again.
// Until then, other tasks can get slots there.
func (c *core) useSlowNodes(atOnce bool) (used bool) {
	if atOnce {
		c.speculation.slow.Lift(c.now)
	}
	if !c.speculation.slow.Expire(c.now) {
		return false
	}
	c.tellBlocked()
	for _, w := range c.workers {
		c.pool.SetReady(w.resource, c.takesTasks(w))
	}
	c.supplied = true
	c.speculation.next = c.now.Add(c.config.Speculation.Slow.Interval)
	for _, r := range slices.Sorted(maps.Keys(c.speculation.of)) {
		for e := range c.graph.Region(r) {
			if !c.speculation.slow.Blocks(e.Node) {
				c.stopAsking(r)
			}
		}
	}
	return true
}

// returnTime is when a job uses the nodes again that it avoids, because other tasks wait and none of its workers is on another node.
func (c *core) returnTime() (*patience.Deadline, bool) {
	elsewhereToo := func(w *worker) bool { return w.ready() && !c.avoids(w) }
	if c.speculation.slow.Empty() || !c.active() || c.pool.Waiting() == 0 || slices.ContainsFunc(c.workers, elsewhereToo) {
		return nil, false
	}
	since := c.waitsSince
	if c.speculation.avoided.After(since) {
		since = c.speculation.avoided
	}
	return c.speculation.returns.From(since, elsewhere), true
}

// giveUpSpeculation stops the wait for slots of further attempts for a time, if the job avoids nodes and gets slots nowhere else.
// False: it avoids none.
func (c *core) giveUpSpeculation() bool {
	if !c.useSlowNodes(true) {
		return false
	}
	c.speculation.next = c.now.Add(max(c.config.Speculation.BlockTime, c.config.Speculation.Slow.Interval))
	return true
}

// stopAsking gives up the wait for slots of further attempts of a region's task.
func (c *core) stopAsking(r int) {
	f := c.speculation.of[r]
	if f == nil {
		return
	}
	for _, ask := range f.asks {
		delete(c.speculation.asks, ask)
		c.pool.Remove(ask, c.now)
	}
	f.tries -= len(f.asks)
	f.asks = nil
}

// stopSpeculation gives up the further attempts of a region that has ended or begins again, except that those which run are to be
// cancelled.
func (c *core) stopSpeculation(r int) {
	c.stopAsking(r)
	delete(c.speculation.of, r)
}

// deployFurther deploys a further attempt of a task, in the slot that a region of the pool has got for it.
func (c *core) deployFurther(d *deployment, ask int) {
	r := c.speculation.asks[ask]
	delete(c.speculation.asks, ask)
	f := c.speculation.of[r]
	f.asks = slices.DeleteFunc(f.asks, func(other int) bool { return other == ask })
	slot, _ := c.pool.SlotOf(ask)
	for e := range c.graph.Region(r) {
		another := c.graph.Speculate(e, c.placeOf(slot), c.now)
		c.speculation.slots[another.ID] = ask
		d.add(another, slot)
		c.emit(furtherDeployed{Task: c.graph.TaskName(e), Execution: another.ID, Node: another.Node})
	}
}

// standIn lets another attempt take the place of a current one that fails. The region then runs on in that attempt's slot. It gives
// the execution that stands for the failed one then.
func (c *core) standIn(e *executiongraph.Execution, f *msg.Failure) *executiongraph.Execution {
	if e.IsBeside() || f != nil && f.Permanent || c.regions[e.Region].phase != deployed {
		return e
	}
	for _, other := range c.graph.Beside(e) {
		if other.State != msg.ExecutionCanceling {
			if _, further := c.speculation.slots[e.ID]; !further && c.pool.Release(e.Region) {
				c.supplied = true
			}
			c.promote(other)
			return other // which is now the one that fails
		}
	}
	return e
}

// promote makes an attempt current that runs beside the current one.
func (c *core) promote(e *executiongraph.Execution) *executiongraph.Execution {
	c.user.Drop(e.ID.Vertex, e.ID.Subtask)
	return c.graph.Promote(e, c.now)
}

// slotLeft frees the slot of an attempt that has ended, if it is not the slot of its region.
func (c *core) slotLeft(e *executiongraph.Execution) {
	if ask, further := c.speculation.slots[e.ID]; further {
		delete(c.speculation.slots, e.ID)
		c.pool.Remove(ask, c.now)
		c.supplied = true
	}
}

// cancelBeside cancels the other attempts of a task that has finished.
func (c *core) cancelBeside(e *executiongraph.Execution) {
	if beside := c.graph.Beside(e); len(beside) > 0 {
		c.emit(furtherEnded{Task: c.graph.TaskName(e), Execution: e.ID, Others: len(beside)})
		c.cancelAttempts(slices.Values(beside))
	}
}

// endedBeside tells whether a host has ended because an attempt does not end that was cancelled beside the current one of its task. The
// job does not fail because its further attempts hang.
func (c *core) endedBeside(host ids.HostID) bool {
	return c.config.CancellationTimeout > 0 && slices.ContainsFunc(c.graph.In(host), func(id ids.ExecutionAttemptID) bool {
		e, err := c.graph.Find(id)
		return err == nil && e.IsBeside() && e.State == msg.ExecutionCanceling && c.now.Sub(e.Entered.At(e.State)) >= c.config.CancellationTimeout
	})
}

// exchangesForSpeculation makes the exchanges of a job blocking that may have further attempts, if they are pipelined by an automatic
// choice.
func (c *core) exchangesForSpeculation() {
	if c.config.Speculation.Enabled && c.config.Waves && c.divisible { // otherwise the tasks of pipelined regions have one attempt at a time
		_ = c.inWaves("execution.batch.speculative.enabled is true, and tasks with pipelined exchanges have one attempt at a time")
	}
}
