package jobmaster

import (
	"errors"
	"fmt"
	"iter"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/appmaster/internal/patience"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/executiongraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// task finds the task of a message: an attempt that runs on the worker that sent the message. It
// gives nil if there is none.
func (c *core) task(w *worker, id ids.ExecutionAttemptID, about taskExecutorSaid) *executiongraph.Execution {
	e, err := c.graph.Find(id)
	switch {
	case err != nil:
		c.emit(dropped{From: about.From, Message: about.Message, Why: err.Error()})
		return nil
	case e.Resource != w.resource || e.State.Final():
		c.emit(dropped{From: about.From, Message: about.Message, Why: "the task does not run on this worker"})
		return nil
	}
	return e
}

// cancelTasks cancels the attempts of tasks that have not ended, and tells the hosts that run them.
func (c *core) cancelTasks(tasks iter.Seq[*executiongraph.Execution]) {
	c.cancelAttempts(func(yield func(*executiongraph.Execution) bool) {
		for e := range tasks {
			for _, beside := range c.graph.Beside(e) {
				if !yield(beside) {
					return
				}
			}
			if !yield(e) {
				return
			}
		}
	})
}

// cancelAttempts cancels the attempts that have not ended, and tells the hosts that run them.
func (c *core) cancelAttempts(attempts iter.Seq[*executiongraph.Execution]) {
	var orders byWorker[ids.ExecutionAttemptID]
	for e := range attempts {
		if w := c.byHost[e.Host]; c.graph.Cancel(e, c.now) && w != nil {
			orders.add(w, e.ID)
		}
	}
	for _, w := range orders.workers {
		c.pool.SetReady(w.resource, c.takesTasks(w))
		c.send(w, msg.CancelTasks{Executions: orders.parts[w]})
	}
}

// taskStateChanged handles that a task has changed its state. The worker removes partitions that it reports without need.
func (c *core) taskStateChanged(w *worker, m msg.TaskStateChange, said taskExecutorSaid) {
	if e := c.task(w, m.Execution, said); e != nil {
		c.changeTask(w, e, m)
	}
	c.freeReported(w, m, c.graph.Known)
}

func (c *core) changeTask(w *worker, e *executiongraph.Execution, m msg.TaskStateChange) {
	to := m.State
	switch {
	case to == msg.ExecutionCanceling: // a legal transition, but the other tasks of the region are not cancelled
		c.misbehaved(w, e, fmt.Errorf("task reported the state %s, but nothing had cancelled it", to))
		return
	case to == msg.ExecutionRunning && e.State == msg.ExecutionCanceling:
		return // the task reported this before the cancel reached it
	case to == msg.ExecutionFailed && e.State == msg.ExecutionCanceling:
		// This failure may be the root cause. But beside a current attempt it means nothing: that one may have finished.
		if cause := c.taskCause(w, e, m.Failure); !c.partitionLost(e, cause) && !e.IsBeside() {
			c.regionFailed(e.Region, cause)
		}
		to = msg.ExecutionCanceled
	case to == msg.ExecutionFinished && e.State == msg.ExecutionCanceling:
		to = msg.ExecutionCanceled
	case to == msg.ExecutionCanceled && e.State != msg.ExecutionCanceling:
		m.Failure = &msg.Failure{Message: "task was cancelled by its host"}
		to = msg.ExecutionFailed
	}
	if to == msg.ExecutionFinished {
		if err := c.counters.fit(e.Region, e.ID.Vertex, m.Counters); err != nil { // another attempt would have as many: permanent
			to, m.Failure = msg.ExecutionFailed, &msg.Failure{Message: err.Error(), Permanent: true}
		} else if !c.mayCommit(e) {
			to, m.Failure = msg.ExecutionFailed, &msg.Failure{Message: "task has finished without leave to commit"}
		} else if err := c.graph.CheckWritten(e, m.Partitions); err != nil {
			to, m.Failure = msg.ExecutionFailed, &msg.Failure{Message: err.Error()}
		}
	}
	canceled := e.State == msg.ExecutionCanceling
	switch {
	case to == msg.ExecutionFinished && e.IsBeside():
		e = c.promote(e)
	case to == msg.ExecutionFailed:
		e = c.standIn(e, m.Failure)
	}
	if err := c.graph.Transition(e, to, c.now); err != nil {
		c.misbehaved(w, e, err)
		return
	}
	if canceled && c.graph.Canceling(w.host) == 0 { // it was the last one
		c.pool.SetReady(w.resource, c.takesTasks(w))
		c.supplied = true
	}
	if to == msg.ExecutionRunning {
		c.reached(msg.StepRunning)
	}
	if to.Final() {
		e.Ends(m.Metrics)
		c.reportUser(e, m.User)
		c.slotLeft(e)
	}
	if to == msg.ExecutionFinished {
		c.cancelBeside(e)
		c.counters.add(e.Region, e.ID.Vertex, m.Counters)
		c.written(e, m.Partitions)
		c.completeCommit(e.Region)
		c.noteEnded(e.Region)
	}
	if to == msg.ExecutionFailed {
		cause := c.taskCause(w, e, m.Failure)
		c.noteFailed(e, cause)
		if !c.partitionLost(e, cause) && (!e.IsBeside() || cause.Failure.Permanent) {
			c.regionFailed(e.Region, cause)
		}
	}
}

// misbehaved fails the region of a task whose host broke the protocol. The task may still run, so
// it is cancelled with the others.
func (c *core) misbehaved(w *worker, e *executiongraph.Execution, err error) {
	c.regionFailed(e.Region, c.taskCause(w, e, &msg.Failure{Message: err.Error()}))
}

// noteEnded frees the slots of a region that has finished for other regions. A region with unfinished tasks keeps all its slots,
// because its hosts may still hold data that these tasks must read.
func (c *core) noteEnded(r int) {
	if c.graph.RegionEnded(r) {
		if c.isRecorded(r) {
			c.counters.keep(r)
			c.committed(r)
		}
		c.stopSpeculation(r)
		c.pool.Finish(r, c.now)
		c.consumed(r)
		c.supplied = true
	}
}

// splitRequested gives a split to a source task, or tells it that none is left.
func (c *core) splitRequested(w *worker, said taskExecutorSaid) {
	m := said.Message.(msg.RequestSplit)
	e := c.task(w, m.Execution, said)
	if e == nil || e.State == msg.ExecutionCanceling {
		return
	}
	queue := c.splits[e.ID.Vertex]
	if queue == nil {
		c.misbehaved(w, e, errors.New("task asks for a split but reads none"))
		return
	}
	assigned := msg.SplitAssigned{Execution: e.ID}
	if split, found := queue.next(e.ID.Subtask, e.ID.Attempt, w.node); found {
		assigned.Split, assigned.Lineage = &queue.splits[split], executiongraph.SplitLineage(split)
	}
	c.send(w, assigned)
}

// batchCollected takes collected records, which a client will fetch.
func (c *core) batchCollected(w *worker, said taskExecutorSaid) {
	m := said.Message.(msg.CollectBatch)
	e := c.task(w, m.Execution, said)
	if e == nil || e.State == msg.ExecutionCanceling {
		return
	}
	name := c.config.Graph.Vertices[e.ID.Vertex].Collect
	if name == "" {
		c.misbehaved(w, e, errors.New("task sends records to the client but collects none"))
		return
	}
	acknowledged, err := c.results[name].Add(m.Sequence, m.Records)
	switch {
	case errors.Is(err, collect.ErrTooLarge):
		c.failJob(fmt.Sprintf("collect %q: %v", name, err))
		return
	case err != nil:
		c.misbehaved(w, e, err)
		return
	}
	c.emit(resultChanged{Name: name})
	c.acknowledge(w, e, acknowledged)
}

func (c *core) acknowledge(w *worker, e *executiongraph.Execution, a collect.Acknowledged) {
	for sequence := a.From; sequence < a.To; sequence++ {
		c.send(w, msg.CollectAcknowledged{Execution: e.ID, Sequence: sequence})
	}
}

// page gives a page of a collected result, and tells the task how much more it may send.
func (c *core) page(name string, cursor int64) pageAnswer {
	result := c.results[name]
	if result == nil {
		return pageAnswer{Err: fmt.Errorf("%w: %q", msg.ErrResultNotFound, name)}
	}
	page, acknowledged, err := result.Page(cursor)
	if err != nil {
		return pageAnswer{Err: err}
	}
	c.makeRoom(name, acknowledged)
	return pageAnswer{Page: page}
}

// makeRoom acknowledges batches to the task that collects a result, so that it can send more.
func (c *core) makeRoom(name string, a collect.Acknowledged) {
	e := c.collector(name)
	if w := c.byResource[e.Resource]; w != nil && !e.State.Final() {
		c.acknowledge(w, e, a)
	}
}

// clientAsked notes that a client follows the job.
func (c *core) clientAsked() { c.clients = patience.After(c.now, c.config.ClientTimeout) }

// stalledResults lists the results whose tasks wait for the client to read.
func (c *core) stalledResults() []string {
	var stalled []string
	for _, name := range c.layout.results {
		if c.results[name].Stalled() {
			stalled = append(stalled, name)
		}
	}
	return stalled
}

// dropResults drops collected records if no client reads them, so that their tasks can continue.
// The client has detached or died, and the job must still finish its other work.
func (c *core) dropResults() {
	if !c.clients.Passed(c.now) {
		return
	}
	for _, name := range c.stalledResults() {
		c.emit(resultDropped{Name: name, After: c.config.ClientTimeout})
		c.makeRoom(name, c.results[name].Drop())
	}
}

// collector gives the task that collects a result. Validate ensures that there is exactly one.
func (c *core) collector(name string) *executiongraph.Execution {
	for v, vertex := range c.config.Graph.Vertices {
		if vertex.Collect == name {
			return &c.graph.Vertex(v)[0]
		}
	}
	panic(fmt.Sprintf("jobmaster: no task collects %q", name))
}
