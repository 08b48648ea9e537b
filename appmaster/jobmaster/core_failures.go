package jobmaster

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/executiongraph"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/failover"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// loss is the end of a host. Several regions may fail because of one loss; the restart strategy
// decides once for all of them.
type loss struct {
	cause    failover.Cause
	server   ids.HostID         // of the worker's partitions; "" if only the host ended
	decision *failover.Decision // nil until the loss was the root cause of a region
}

// taskFailure is why a task is FAILED, for users. The JobMaster finds root causes among the
// failures that regions collect.
type taskFailure struct {
	region int
	entry  msg.ExceptionEntry
}

// restartsAll tells whether all regions restart together. Their failures are then collected in one
// region, which stands for all: the only one in c.failing.
func (c *core) restartsAll() bool { return c.config.FailoverStrategy == failover.RestartAll }

// together gives the regions that restart with a failed one.
func (c *core) together(r int) iter.Seq[int] {
	return func(yield func(int) bool) {
		if !c.restartsAll() {
			yield(r)
			return
		}
		for all := range c.regions {
			if !c.isOver(all) && !yield(all) {
				return
			}
		}
	}
}

// tasksOf gives the tasks of these regions.
func (c *core) tasksOf(regions iter.Seq[int]) iter.Seq[*executiongraph.Execution] {
	return func(yield func(*executiongraph.Execution) bool) {
		for r := range regions {
			for e := range c.tasks(r) {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// stopped tells whether all tasks that restart with a failed region have ended, and it is known which of them these
// are: while a commit is being stored, nobody knows whether all tasks of its region run again.
func (c *core) stopped(r int) bool {
	if c.dividing != "" {
		return false // all regions begin anew together: see divideStopped
	}
	if c.restartsAll() {
		return c.graph.Ended() && c.storing == 0
	}
	return c.graph.RegionEnded(r) && !c.isStoring(r)
}

// regionFailed handles a failure among the tasks of a region and cancels the other tasks that restart
// with them. The tasks of the region cannot continue without the failed task, whatever the root cause is.
func (c *core) regionFailed(r int, cause failover.Cause) {
	if c.restartsAll() && len(c.failing) > 0 {
		r = c.failing[0]
	}
	region := &c.regions[r]
	switch {
	case !c.active() || region.phase == blocked || region.phase == waiting:
		return
	case region.phase == delayed && !cause.Failure.Permanent:
		return
	case region.phase == delayed: // a permanent failure makes the restart useless, whatever its cause was
		region.phase = failing
		region.incident = failover.Incident{}
	case region.phase == deployed:
		c.beginFailover(r)
		c.cancelTasks(c.tasksOf(c.together(r)))
	}
	if l := c.lossOf(cause.Failure.PeerLost); l != nil {
		cause = l.cause
	} else if !c.hasRoomForIncident(cause) {
		cause.Failure = brief(cause.Failure)
	}
	region.incident.Add(cause)
}

// beginFailover notes that a region has failed. If all regions restart with it, none gets slots any
// more.
func (c *core) beginFailover(r int) {
	c.regions[r] = region{phase: failing}
	at, _ := slices.BinarySearch(c.failing, r)
	c.failing = slices.Insert(c.failing, at, r)
	for other := range c.together(r) {
		c.stopSpeculation(other)
		c.reopenCommit(other)
		c.spoil(other)
	}
	if c.restartsAll() {
		c.awaitsHeld = false // what was taken over runs again, too
		c.pool.StopWaiting()
	}
}

func (c *core) lossOf(host ids.HostID) *loss {
	if host != "" {
		for _, l := range c.losses {
			if l.cause.Host == host || l.server == host {
				return l
			}
		}
	}
	return nil
}

// loseHost handles that the job's host on a worker takes no more tasks.
func (c *core) loseHost(w *worker, kind failover.Kind, f msg.Failure) {
	c.tasksLost(w, c.noteLoss(w, "", failover.Cause{Kind: kind, Failure: clipped(f)}))
	c.setHost(w, "", "")
}

// loseWorker handles that a worker has ended, and with it the job's host and the partitions, unless it may still have them.
func (c *core) loseWorker(w *worker, cause string, keeps bool) {
	text := fmt.Sprintf("worker %s on %s is lost: %s", w.resource, w.node, cause)
	server := w.server()
	if keeps {
		server = ""
	}
	lost := c.noteLoss(w, server, failover.Cause{Kind: failover.WorkerLost, Failure: *msg.NewFailure(text, "")})
	c.tasksLost(w, lost)
	if !keeps {
		c.partitionsLost(w, lost, nil)
	}
}

// noteLoss keeps the loss of the host of a worker, and of its server of partitions unless that is "".
func (c *core) noteLoss(w *worker, server ids.HostID, cause failover.Cause) failover.Cause {
	cause.Time, cause.Location, cause.Resource, cause.Host = c.now, w.node, w.resource, w.host
	if cause.Host == "" {
		cause.Host = server
	}
	if cause.Host != "" {
		c.losses = append(c.losses, &loss{cause: cause, server: server})
		c.boundLosses()
	}
	return cause
}

// tasksLost ends the tasks in the host of a worker, and adds the cause to the failures that blame
// this host, or the server that is lost with it.
func (c *core) tasksLost(w *worker, cause failover.Cause) {
	if cause.Host == "" {
		return
	}
	var regions []int
	for _, id := range c.graph.In(w.host) {
		e, err := c.graph.Find(id)
		switch {
		case err != nil:
			panic(fmt.Sprintf("jobmaster: job %s: %v", c.config.Job, err))
		case e.State == msg.ExecutionCanceling:
			c.mustTransition(e, msg.ExecutionCanceled)
		default:
			e = c.standIn(e, nil)
			c.mustTransition(e, msg.ExecutionFailed)
			c.noteFailed(e, cause)
		}
		c.slotLeft(e)
		if !e.IsBeside() {
			regions = append(regions, e.Region)
		}
	}
	slices.Sort(regions)
	for _, r := range slices.Compact(regions) {
		c.regionFailed(r, cause)
	}
	for _, r := range c.failing {
		if suspect, _ := c.regions[r].incident.Suspect(); c.lossOf(suspect) != nil {
			c.regions[r].incident.Add(c.lossOf(suspect).cause)
		}
	}
}

// failOver decides about each failure whose root cause is known, and restarts the regions whose
// delay has passed. A restart may let other regions run again, which may have ended.
func (c *core) failOver() {
	for c.failOverOnce() {
	}
}

// failOverOnce tells whether a region has restarted, or others run again because of a failure.
func (c *core) failOverOnce() (more bool) {
	c.scratch = append(c.scratch[:0], c.failing...) // a restart changes it
	for _, r := range c.scratch {
		if c.graph.RegionEnded(r) && c.pool.Release(r) {
			c.supplied = true // other regions may use its slots meanwhile
		}
		if c.regions[r].phase == failing {
			if root, known := c.rootCause(r); known {
				c.decide(r, root)
			}
		}
		if !c.active() {
			return false // the failure ended the job
		}
		if region := &c.regions[r]; region.phase == delayed && c.stopped(r) && !c.now.Before(region.restartAt) {
			c.restart(r)
			more = true
		}
	}
	return more || len(c.failing) > len(c.scratch)
}

// rootCause gives the root cause of the failure of a region, once it is known. If the failures
// blame a host, its node may be lost. The JobMaster then waits for the next message of the blamed
// worker, which shows that it lives (this may be the end of its cancelled tasks), or for the loss
// of its connection.
func (c *core) rootCause(r int) (failover.Cause, bool) {
	incident := &c.regions[r].incident
	if suspect, since := incident.Suspect(); suspect != "" {
		if w := c.byHost[suspect]; w != nil && (!w.connected || !w.heard.After(since)) {
			return failover.Cause{}, false
		}
	}
	return incident.Root(c.now)
}

// regionDeadline is when failOver must look at a failed region again.
func (c *core) regionDeadline(r int) (at time.Time, waits bool) {
	switch region := &c.regions[r]; {
	case region.phase == delayed && region.restartAt.After(c.now):
		return region.restartAt, true
	case region.phase == failing:
		return region.incident.HeldUntil(c.now)
	}
	return time.Time{}, false
}

// decide asks the restart strategy about the root cause of a region's failure, unless it has decided already.
func (c *core) decide(r int, root failover.Cause) {
	l := c.lossOf(root.Host)
	w, producers := c.outOfReach(r, root)
	var decision failover.Decision
	switch {
	case l != nil && l.decision != nil:
		decision = *l.decision
	case w != nil && !root.Failure.Permanent && c.sameOutage(r, w, producers):
		decision = w.outage.decision
	default:
		decision = c.restarts.Decide(c.now, root, c.accountOf(r))
		if l != nil {
			l.decision = &decision
		}
		if w != nil {
			w.outage = outage{c.now, decision}
		}
		if decision.Restart {
			c.remember(root.Entry())
		}
	}
	c.emit(regionFailed{Region: r, Root: root.Entry(), Restart: decision.Restart, Delay: decision.Delay})
	if !decision.Restart {
		c.failAfter(root, decision)
		return
	}
	if w != nil {
		c.writeAgain(w, producers)
	}
	c.delay(r, decision.Delay)
}

// delay lets a failed region restart after a delay, once its tasks have ended.
func (c *core) delay(r int, delay time.Duration) {
	c.regions[r].phase = delayed
	c.regions[r].restartAt = c.now.Add(delay)
	c.setStatus(msg.JobRestarting)
}

// accountOf is the region to which the restart strategy counts a failure.
func (c *core) accountOf(r int) int {
	if c.restartsAll() {
		return failover.WholeJob
	}
	return r
}

// failAfter ends the job with a root cause after which there is no restart.
func (c *core) failAfter(root failover.Cause, decision failover.Decision) {
	entry := root.Entry()
	if decision.Exhausted != "" {
		entry.Failure = clipped(msg.Failure{
			Message: fmt.Sprintf("%s\nnot restarted: %s", entry.Failure.Message, decision.Exhausted),
			Stack:   entry.Failure.Stack,
		})
	}
	c.failWith(entry)
}

// restart starts a failed region again, or all regions: their tasks get new attempts, their splits are
// handed out again, and their collected records are dropped. Of a region with a commit record, only the commit
// tasks start again, and it needs only their slots. The history has the texts of the failures, if they fit.
func (c *core) restart(r int) {
	together := slices.Collect(c.together(r))
	for e := range c.tasksOf(slices.Values(together)) {
		vertex := c.config.Graph.Vertices[e.ID.Vertex]
		if vertex.Source {
			c.splits[e.ID.Vertex].takeBack(e.ID.Subtask)
		}
		if vertex.Collect != "" {
			c.results[vertex.Collect].Reset()
			c.emit(resultChanged{Name: vertex.Collect})
		}
		c.graph.Restart(e, c.now)
		c.user.Drop(e.ID.Vertex, e.ID.Subtask)
	}
	c.restarted++
	at, _ := slices.BinarySearch(c.failing, r)
	c.failing = slices.Delete(c.failing, at, at+1)
	if c.restartsAll() {
		c.counters.reset()
		c.failed = nil
		c.pool.Reopen(c.now)
		for all := range c.regions {
			if c.isOver(all) {
				c.pool.Finish(all, c.now)
			}
		}
	} else {
		c.pool.Again(r, c.now)
		c.counters.restart(r)
		c.failed = slices.DeleteFunc(c.failed, func(f taskFailure) bool { return f.region == r })
	}
	for _, r := range together {
		if c.isRecorded(r) {
			shared, tasks := c.sharedSlots(r)
			c.pool.Narrow(r, shared, tasks, c.now)
		}
		c.schedule(r)
	}
	if !slices.ContainsFunc(c.failing, func(r int) bool { return c.regions[r].phase == delayed }) {
		c.setStatus(msg.JobRunning)
	}
}

// remember puts a root cause into the job's history.
func (c *core) remember(root msg.ExceptionEntry) {
	c.history = slices.Insert(c.history, 0, root)
	c.boundHistory()
}

// noteFailed keeps the failure of a task until its region restarts.
func (c *core) noteFailed(e *executiongraph.Execution, cause failover.Cause) {
	entry := cause.Entry()
	entry.Task = c.graph.TaskName(e) // the cause of a lost host names no task
	if c.hasRoomForFailed(entry) {
		c.failed = append(c.failed, taskFailure{region: e.Region, entry: entry})
	}
}

// taskCause describes a failure that a task reported.
func (c *core) taskCause(w *worker, e *executiongraph.Execution, f *msg.Failure) failover.Cause {
	if f == nil {
		f = &msg.Failure{Message: "task failed and gave no reason"}
	}
	return failover.Cause{
		Kind: failover.TaskFailed, Time: c.now, Failure: clipped(*f),
		Task: c.graph.TaskName(e), Location: w.node, Resource: w.resource,
	}
}
