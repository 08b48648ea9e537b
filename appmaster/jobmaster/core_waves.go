package jobmaster

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/slotpool"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// With execution.batch-shuffle-mode AUTOMATIC, exchanges are pipelined as far as possible, which needs slots for producers and
// consumers at the same time. If the cluster does not have them, and nothing of the job has run, all its exchanges become blocking.
// The job then runs in waves: the tasks of a vertex use the slots one after the other, and then those of the next vertex.

// divideAfter is how long a job waits with slots that are too few for any part of it, before it runs in waves.
const divideAfter = 10 * time.Second

// divideTime is when a starved job stops waiting for more slots, and runs in waves.
func (c *core) divideTime() (time.Time, bool) {
	since, starved := c.pool.StarvedSince()
	divides := starved && c.mayDivide() && c.pool.Total().Held > 0 && c.pool.Waiting() > 0
	return since.Add(divideAfter), divides
}

// mayDivide tells whether the exchanges may still be made blocking.
func (c *core) mayDivide() bool {
	return c.divisible && c.active() && c.config.Waves && c.waves == "" && !c.ran && len(c.failing) == 0 &&
		!slices.ContainsFunc(c.commits, func(k *commit) bool { return k != nil && k.phase != open })
}

func pipelinedExchange(e jobgraph.Edge) bool {
	return e.Pattern == jobgraph.AllToAll && e.Kind == jobgraph.Pipelined
}

// divideStarved lets a job run in waves that has too few slots. limit says why it gets no more; "": they have not come in time.
// False: that does not help, or is not allowed.
func (c *core) divideStarved(limit string) bool {
	if !c.mayDivide() {
		return false
	}
	total := c.pool.Total()
	c.divide(cmp.Or(limit, fmt.Sprintf("a part of it needs %d slots at a time, and the cluster has %d", total.Least, total.Held)))
	return true
}

// divide makes all exchanges blocking, and schedules the job anew with the slots that it has. Nothing of it has run.
func (c *core) divide(why string) {
	held := c.pool.Slots()
	if err := c.inWaves(why); err != nil {
		panic(fmt.Sprintf("jobmaster: job %s: %v", c.config.Job, err)) // mayDivide has tried
	}
	c.emit(exchangesBlocking{Why: why})
	c.graph.Start(c.now)
	c.makePool()
	for _, w := range c.workers {
		c.pool.SetReady(w.resource, c.takesTasks(w))
	}
	c.freeSlots(slices.DeleteFunc(held, func(s slotpool.Slot) bool { return c.pool.Offer(s, c.now) }), "the job runs in waves, and needs fewer slots")
	c.awaitHeld()
	c.scheduleAll()
	c.supplied = true
}

// inWaves makes all exchanges of the job blocking. Task hosts do the same: see msg.DeployTasks. The error says that its co-locations
// do not allow that.
func (c *core) inWaves(why string) error {
	g, err := c.config.Graph.WithBlockingExchanges()
	if err != nil {
		return err
	}
	c.waves = why
	c.plan(g)
	return nil
}

// followWaves makes all exchanges blocking if a task of an earlier master has written a partition of one that is pipelined by plan.
// True: it has done so just now, and nothing is adopted any more.
func (c *core) followWaves(t msg.TaskStateChange) bool {
	if !c.takenOver() || t.Execution.Epoch >= c.config.Epoch || !c.mayDivide() {
		return false
	}
	for _, e := range c.config.Graph.Edges {
		if pipelinedExchange(e) && int(e.From) == t.Execution.Vertex && slices.ContainsFunc(t.Partitions, func(w msg.WrittenPartition) bool { return w.Output == e.Output }) {
			c.forgetHeld()
			c.divide("it did so under the ApplicationMaster before")
			return true
		}
	}
	return false
}

// writesForOthers tells whether a region commits what its tasks write, and others read from it. Such a region would keep its slots until
// the others are done. With blocking exchanges, only its commit waits.
func (c *core) writesForOthers() bool {
	for r, k := range c.commits {
		if k == nil || !c.divisible {
			continue
		}
		for range c.graph.Consumers(r) {
			return true
		}
	}
	return false
}
