package jobmaster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/patience"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/executiongraph"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/slotpool"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// With execution.batch-shuffle-mode AUTOMATIC, exchanges are pipelined as far as possible, which needs slots for producers and
// consumers at the same time. If the cluster does not have them, and no output is being committed yet, all exchanges become blocking.
// The job then runs in waves: the tasks of a vertex use the slots one after the other, and then those of the next vertex.
//
// A job may notice this only after parts of it have run. Then it begins anew, because its regions are others:
//
//	starved ──▶ dividing: its tasks are cancelled ──▶ (none runs any more) divide ──▶ in waves
//
// That is no failure, and uses up no restart. Failures that it has already seen are decided first: they may end the job.
//
// To lose no work, a job asks the ResourceManager before its first task runs, and again before its first commit: it declares what its
// largest region needs, and hears if it can never have that many slots.

// divideAfter is how long a job that has done no work yet waits with slots that are too few for any part of it, before it runs in
// waves. A job that would lose work waits for slot.request.timeout.
const divideAfter = 10 * time.Second

// divideTime is when a starved job without work stops waiting for more slots, and runs in waves.
func (c *core) divideTime() (*patience.Deadline, bool) {
	since, starved := c.pool.StarvedSince()
	divides := starved && c.wavesHelp() && !c.hasBegun() && c.pool.Total().Held > 0 && c.pool.Waiting() > 0
	return c.divides.From(since, divideAfter), divides
}

// hasBegun tells whether a task runs, or the job has done work that it needs.
func (c *core) hasBegun() bool {
	return slices.ContainsFunc(c.regions, func(r region) bool { return r.phase != blocked && r.phase != waiting })
}

// mayDivide tells whether the exchanges may still be made blocking. Records of commits are numbered by the present regions.
func (c *core) mayDivide() bool {
	return c.divisible && c.active() && c.config.Waves && c.waves == "" && c.dividing == "" &&
		!slices.ContainsFunc(c.commits, func(k *commit) bool { return k != nil && k.phase != open })
}

// needsLess tells whether the job would need fewer slots at a time in waves, of some kind of which it has too few. Slots of others may
// just not have come yet.
func (c *core) needsLess() bool { return c.gains(c.least) }

// gains tells whether the job has fewer slots of some kind than these, and needs fewer in waves.
func (c *core) gains(needs func(kind int) int) bool {
	for k := range c.pool.Kinds() {
		if n := needs(k); c.divisible && c.pool.Demand(k).Held < n && c.divided[k] < n {
			return true
		}
	}
	return false
}

// asksLargest tells whether the job asks for the slots of its largest region, though others may run with fewer.
func (c *core) asksLargest() bool {
	return (!c.ran && !c.hasBegun() || !c.askUntil.IsZero()) && c.mayDivide()
}

// least is how many slots of a kind the job needs at least.
func (c *core) least(kind int) int {
	if most := c.pool.Largest(kind); c.asksLargest() && c.divided[kind] < most {
		return most
	}
	return c.pool.Demand(kind).Least
}

// asksFirst holds back a commit, because the job has too few slots for a region, and a record would forbid that it runs in waves. The
// answer comes within divideAfter, or the job can probably have the slots.
func (c *core) asksFirst() bool {
	if c.asked || !c.mayDivide() || !c.lacksLargest() {
		return false
	}
	if c.askUntil.IsZero() {
		c.askUntil = patience.After(c.now, divideAfter)
	}
	return true
}

// askTime is when the commits go on that wait for an answer.
func (c *core) askTime() (*patience.Deadline, bool) {
	return &c.askUntil, !c.askUntil.IsZero() && c.active()
}

// lacksLargest tells whether the job has too few slots for a region that would need fewer in waves.
func (c *core) lacksLargest() bool { return c.gains(c.pool.Largest) }

// endAsking lets commits go on if the job has the slots, or no answer has come.
func (c *core) endAsking() {
	if c.askUntil.IsZero() || c.dividing != "" {
		return
	}
	if late := c.askUntil.Passed(c.now); late || !c.lacksLargest() {
		c.asked, c.askUntil, c.settled = late, patience.Deadline{}, true
	}
}

// wavesHelp tells whether a starved job may run in waves, and needs fewer slots then.
func (c *core) wavesHelp() bool { return c.mayDivide() && c.needsLess() }

// adviseWaves is a text for users of a starved job that does not run in waves; "" if that would not help.
func (c *core) adviseWaves() string {
	if !c.needsLess() {
		return ""
	}
	return fmt.Sprintf("; the job needs fewer slots at a time with %s ALL_EXCHANGES_BLOCKING", config.BatchShuffleMode.Name())
}

func pipelinedExchange(e jobgraph.Edge) bool {
	return e.Pattern == jobgraph.AllToAll && e.Kind == jobgraph.Pipelined
}

// findDivision finds out whether the exchanges can be blocking, and what the job needs then.
func (c *core) findDivision() {
	c.divisible, c.divided = false, nil
	g := c.config.Graph
	if !slices.ContainsFunc(g.Edges, pipelinedExchange) {
		return
	}
	blocking, err := g.WithBlockingExchanges()
	if err != nil {
		return // its co-locations do not allow that
	}
	profiles, kinds := msg.Profiles(g)
	c.divisible, c.divided = true, make([]int, len(profiles))
	for _, region := range blocking.Regions() {
		needs := make([]int, len(profiles))
		for group, n := range region {
			needs[kinds[group]] += n
		}
		for k, n := range needs {
			c.divided[k] = max(c.divided[k], n)
		}
	}
}

// divideStarved lets a job run in waves that has too few slots, once what runs of it has ended. limit says why it gets no more; "":
// they have not come in time. False: that does not help, or is not allowed.
func (c *core) divideStarved(limit string) bool {
	if !c.wavesHelp() {
		return false
	}
	total := c.pool.Total()
	c.askUntil = patience.Deadline{}
	c.dividing = cmp.Or(limit, fmt.Sprintf("a part of it needs %d slots at a time, and the cluster has %d", total.Least, total.Held))
	c.emit(exchangesBlocking{Why: c.dividing})
	if c.hasBegun() {
		c.restarted++
		c.setStatus(msg.JobRestarting)
	}
	c.pool.StopWaiting()
	for r := range c.regions {
		together := c.restartsAll() && len(c.failing) > 0 // then its tasks are cancelled already
		if c.regions[r].phase == deployed && !c.graph.RegionEnded(r) && !together {
			c.beginFailover(r)
			c.cancelTasks(c.tasksOf(c.together(r)))
			c.delay(r, 0)
		}
	}
	return true
}

// divideStopped lets a job run in waves once no task runs any more, and it is known what has failed before.
func (c *core) divideStopped() {
	open := func(r int) bool { return c.regions[r].phase == failing || c.now.Before(c.regions[r].restartAt) }
	if c.dividing != "" && c.active() && c.graph.Idle() && !slices.ContainsFunc(c.failing, open) {
		c.divide(c.dividing)
		c.setStatus(msg.JobRunning)
	}
}

// divide makes all exchanges blocking, and schedules the job anew with the slots that it has. No task runs. Of what tasks have done,
// only that may be of use which workers have told of earlier masters.
func (c *core) divide(why string) {
	slots, short, written := c.pool.Slots(), c.short, c.dropAll()
	told := slices.SortedFunc(maps.Values(c.told.tasks), func(a, b held) int { return a.task.Execution.Compare(b.task.Execution) })
	told = slices.DeleteFunc(told, func(t held) bool { return c.isGiven(t.task) })
	c.forgetHeld()
	if err := c.inWaves(why); err != nil {
		panic(fmt.Sprintf("jobmaster: job %s: %v", c.config.Job, err)) // mayDivide has tried
	}
	c.dividing, c.failing, c.failed, c.onHold, c.askUntil = "", nil, nil, nil, patience.Deadline{}
	clear(c.reread)
	c.graph.Start(c.now)
	c.makePool()
	c.short = short
	for _, w := range c.workers {
		c.pool.SetReady(w.resource, c.takesTasks(w))
	}
	c.freeSlots(slices.DeleteFunc(slots, func(s slotpool.Slot) bool { return c.pool.Offer(s, c.now) }), "the job runs in waves, and needs fewer slots")
	if !c.ran { // otherwise this master has attempts of its own
		c.awaitHeld()
	}
	c.scheduleAll()
	c.supplied = true
	for _, t := range told {
		if c.byResource[t.by.resource] == t.by {
			c.adopt(t.by, t.task)
		}
	}
	for _, p := range written {
		if !c.graph.Available(p.Partition) {
			c.free(p.Resource, p.Partition)
		}
	}
}

// isGiven tells whether a partition of a task that was told is released already.
func (c *core) isGiven(t msg.TaskStateChange) bool {
	return slices.ContainsFunc(t.Partitions, func(w msg.WrittenPartition) bool {
		return c.given[ids.PartitionID{Execution: t.Execution, Output: w.Output}]
	})
}

// dropAll drops what the tasks have collected and written. It gives the partitions that workers serve.
func (c *core) dropAll() (written []executiongraph.Held) {
	for e := range c.graph.All() {
		for _, p := range c.graph.Drop(e) {
			written = append(written, executiongraph.Held{Partition: p, Resource: e.Resource})
		}
	}
	for _, name := range c.layout.results {
		if c.ran {
			c.results[name].Reset()
			c.emit(resultChanged{Name: name})
		}
	}
	return written
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

// mayFollow tells whether an earlier master may turn out to have made all exchanges blocking. A master whose own tasks have run
// decides for itself.
func (c *core) mayFollow() bool { return c.takenOver() && !c.ran && c.mayDivide() }

// followWaves makes all exchanges blocking if a task of an earlier master has written a partition of one that is pipelined by plan.
// All that workers have told before is adopted anew, because the regions are others.
func (c *core) followWaves(t msg.TaskStateChange) {
	if t.Execution.Epoch >= c.config.Epoch || !c.mayFollow() {
		return
	}
	for _, e := range c.config.Graph.Edges {
		if pipelinedExchange(e) && int(e.From) == t.Execution.Vertex && slices.ContainsFunc(t.Partitions, func(w msg.WrittenPartition) bool { return w.Output == e.Output }) {
			const why = "it did so under the ApplicationMaster before"
			c.emit(exchangesBlocking{Why: why})
			c.divide(why)
			return
		}
	}
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
