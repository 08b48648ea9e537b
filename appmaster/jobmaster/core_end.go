package jobmaster

import "github.com/bobbin-yarn/bobbin/internal/msg"

// cancel ends the job on request.
func (c *core) cancel() {
	if c.active() {
		c.setStatus(msg.JobCancelling)
		c.cancelAll()
	}
}

// failJob ends the job for a reason outside its tasks.
func (c *core) failJob(reason string) {
	c.failWith(msg.ExceptionEntry{Time: c.now, Failure: *msg.NewFailure(reason, "")})
}

// failWith ends the job with its root cause.
func (c *core) failWith(root msg.ExceptionEntry) {
	if !c.active() {
		return
	}
	c.remember(root)
	c.setStatus(msg.JobFailing)
	c.cancelAll()
}

func (c *core) cancelAll() {
	c.failing = nil
	c.awaitsHeld = false // nothing is taken over any more
	c.cancelTasks(c.graph.All())
}

// finish ends the job when all its tasks have ended.
func (c *core) finish() {
	switch {
	case c.active() && !c.awaitsHeld && c.graph.Finished():
		c.end(msg.JobFinished)
	case c.status == msg.JobCancelling && c.graph.Ended():
		c.end(msg.JobCanceled)
	case c.status == msg.JobFailing && c.graph.Ended():
		c.end(msg.JobFailed)
	}
}

// end gives all slots back and closes all connections. Before this, the job has declared that it
// needs no slots; otherwise the ResourceManager would grant the freed slots to this job again.
func (c *core) end(status msg.JobStatus) {
	ended := ended{Last: c.details(), LastOverview: c.overview(), Results: c.results}
	c.setStatus(status)
	cause := "job has ended: " + string(status)
	c.freeSlots(c.pool.Slots(), cause)
	for _, w := range c.workers {
		if w.connected {
			c.emit(closeTaskExecutor{To: w.connection, Cause: cause})
		}
	}
	for _, name := range c.layout.results {
		c.results[name].End()
		c.emit(resultChanged{Name: name})
	}
	ended.Details = c.details()
	c.keepSubtasks(ended.Details.Vertices, msg.MaxEndedSubtasks)
	c.emit(ended)
}
