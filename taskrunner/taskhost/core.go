package taskhost

import (
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// core is the task table. Only Step changes it; one goroutine may use it.
type core struct {
	host         ids.HostID
	next         ids.HostID // during a reset: the host's id after it
	graph        *jobgraph.JobGraph
	cancellation Cancellation

	tasks    map[ids.ExecutionAttemptID]*taskState
	stopping bool                // the host ends with its last task
	hdfs     *msg.HDFSMetrics    // as last measured; nil: nobody measures it
	process  *msg.ProcessMetrics // likewise
	pool     *msg.BufferPool     // likewise
	managed  *msg.ManagedMemory  // likewise
	turn     int                 // where the next report of progress begins, if one report has not room for all tasks
	// watchdogs has the next looks at the cancelled tasks.
	watchdogs actor.Deadlines[watchdog]

	now time.Time // of the step
}

// taskState is the state of a task from its deployment to its end. A task that is not in the table
// has ended, and its final state was sent.
type taskState struct {
	canceling bool
	canceled  time.Time        // when, if it is canceling
	reported  msg.TaskMetrics  // the metrics last sent
	user      *msg.UserMetrics // those of its code last sent; nil: none
	userSent  time.Time        // when
	// batches and acknowledged count collected batches, and the acknowledged ones of them.
	batches, acknowledged int64
}

func newCore(host ids.HostID, graph *jobgraph.JobGraph, cancellation Cancellation) *core {
	return &core{host: host, graph: graph, cancellation: cancellation, tasks: make(map[ids.ExecutionAttemptID]*taskState)}
}

// Step handles one event and returns the effects to perform, in order.
func (c *core) Step(now time.Time, ev event) []effect {
	c.now = now
	switch e := ev.(type) {
	case told:
		return c.told(e.Message)
	case tasksDeployed:
		return c.deploy(e)
	case controlLost:
		return []effect{end{abandoned}}
	case splitRequested:
		return c.splitRequested(e)
	case commitPrepared:
		return c.commitPrepared(e)
	case collected:
		return c.collected(e)
	case measured:
		return c.measured(e)
	case taskEnded:
		return c.ended(e)
	case renewed:
		return c.renewed(e)
	case renewalFailed:
		return []effect{fail(e)}
	case woken:
		return c.watch()
	}
	return nil
}

// Alarm is the time of the next look at a cancelled task; zero: no task is watched.
func (c *core) Alarm() time.Time { return c.watchdogs.Next() }

func (c *core) told(m msg.Message) []effect {
	switch m := m.(type) {
	case msg.CancelTasks:
		var effects []effect
		for _, execution := range m.Executions {
			effects = append(effects, c.cancel(execution)...)
		}
		return effects
	case msg.SplitAssigned:
		if c.tasks[m.Execution] != nil {
			return []effect{assignSplit{Execution: m.Execution, Split: m.Split}}
		}
	case msg.CommitGranted:
		if c.tasks[m.Execution] != nil {
			return []effect{giveLeave(m)}
		}
	case msg.CollectAcknowledged:
		return c.acknowledged(m)
	case msg.SetMemory:
		return []effect{setMemory{m.Memory}}
	case msg.UpdateTokens:
		return []effect{updateTokens(m)}
	case msg.Heartbeat:
		m.HDFS, m.Process, m.Pool, m.Managed = c.hdfs, c.process, c.pool, c.managed
		return []effect{send{m}}
	case msg.Inquire:
		return []effect{answerInquiry(m)}
	case msg.ResetHost:
		return c.reset(m)
	case msg.StopHost:
		return c.stop()
	}
	return nil
}

// deploy starts tasks. If a task cannot be started, it fails, and the others start.
func (c *core) deploy(m tasksDeployed) []effect {
	if m.Host != c.host { // for an earlier host, whose end the JobMaster knows meanwhile
		return nil
	}
	var start startTasks
	var states msg.TaskStatesChanged
	change := func(t msg.TaskDeployment, to msg.ExecutionState, failure *msg.Failure) {
		states.Changes = append(states.Changes, msg.TaskStateChange{Execution: t.Execution, State: to, Failure: failure})
	}
	connect := newWiring(c.host, c.graph, m)
	for _, t := range m.Tasks {
		if c.tasks[t.Execution] != nil {
			continue
		}
		if c.stopping {
			change(t, msg.ExecutionCanceled, nil)
			continue
		}
		d, err := connect.wire(t)
		if err != nil {
			change(t, msg.ExecutionFailed, msg.NewFailure(err.Error(), ""))
			continue
		}
		c.tasks[t.Execution] = &taskState{}
		start.Tasks = append(start.Tasks, d)
		change(t, msg.ExecutionRunning, nil)
	}
	var effects []effect
	if len(start.Tasks) > 0 {
		effects = append(effects, start)
	}
	if len(states.Changes) > 0 {
		effects = append(effects, send{states})
	}
	return effects
}

// cancel cancels a task. A task that is not in the table has ended, and its final state is on its
// way.
func (c *core) cancel(execution ids.ExecutionAttemptID) []effect {
	t := c.tasks[execution]
	if t == nil || t.canceling {
		return nil
	}
	t.canceling, t.canceled = true, c.now
	c.guard(execution)
	return []effect{cancelTask{execution}}
}

func (c *core) cancelAll() (effects []effect) {
	for _, execution := range slices.SortedFunc(maps.Keys(c.tasks), ids.ExecutionAttemptID.Compare) {
		effects = append(effects, c.cancel(execution)...)
	}
	return effects
}

func (c *core) stop() []effect {
	c.stopping = true
	return c.goOn(c.cancelAll())
}

// goOn adds what follows when no task is left: the end of a host that stops, or the next part of a reset.
func (c *core) goOn(effects []effect) []effect {
	switch {
	case len(c.tasks) > 0:
	case c.stopping:
		effects = append(effects, end{toldToStop})
	case c.next != "":
		effects = append(effects, renew{c.next})
	}
	return effects
}

// ended reports a task's final state. A cancelled task is CANCELED, whatever its code returned.
func (c *core) ended(e taskEnded) []effect {
	t := c.tasks[e.Execution]
	if t == nil {
		return nil
	}
	delete(c.tasks, e.Execution)
	c.unguard(e.Execution)
	var effects []effect
	if len(e.Partitions) > 0 && (c.next != "" || t.canceling) { // it ended before it heard of its cancel, so it has left them
		effects = append(effects, removePartitions{e.Execution, e.Partitions})
	}
	if c.next != "" {
		return c.goOn(effects)
	}
	m := msg.TaskStateChange{Execution: e.Execution, Counters: e.Counters, Metrics: e.Metrics, User: e.User}
	switch {
	case t.canceling:
		m.State = msg.ExecutionCanceled
	case e.Failure != nil:
		m.State, m.Failure = msg.ExecutionFailed, e.Failure
	default:
		m.State, m.Partitions = msg.ExecutionFinished, e.Partitions
	}
	return c.goOn(append(effects, send{msg.TaskStatesChanged{Changes: []msg.TaskStateChange{m}}}))
}

// measured reports the progress of the tasks that have made some. If a message has not room for all of it, the
// next one begins with what was left out.
func (c *core) measured(e measured) []effect {
	c.hdfs, c.process, c.pool, c.managed = e.HDFS, e.Process, e.Pool, e.Managed
	if c.next != "" || len(e.Tasks) == 0 {
		return nil
	}
	m := msg.TasksProgress{}
	first, left, size := c.turn, -1, 0
	for i := range e.Tasks {
		at := (first + i) % len(e.Tasks)
		progress := e.Tasks[at]
		t := c.tasks[progress.Execution]
		if t == nil {
			continue
		}
		leaveOut := false
		if !c.userDue(t, progress.User) {
			progress.User = nil
		} else if size+progress.User.WireSize() > msg.MaxProgressMetrics {
			progress.User, leaveOut = nil, true
		}
		some := progress.User != nil || progress.Metrics.Changed(t.reported)
		full := some && len(m.Tasks) == msg.MaxProgress
		if left < 0 && (full || leaveOut) {
			left = at
		}
		if full {
			break
		}
		if !some {
			continue
		}
		t.reported = progress.Metrics
		if progress.User != nil {
			t.user, t.userSent = progress.User, c.now
			size += progress.User.WireSize()
		}
		m.Tasks = append(m.Tasks, progress)
	}
	c.turn = max(left, 0)
	if len(m.Tasks) == 0 {
		return nil
	}
	return []effect{send{m}}
}

// userDue tells whether the metrics of a task's code are to be reported.
func (c *core) userDue(t *taskState, now *msg.UserMetrics) bool {
	return now != nil && (!now.Equal(t.user) || c.now.Sub(t.userSent) >= msg.UserMetricsRefresh)
}

func (c *core) splitRequested(e splitRequested) []effect {
	if c.next != "" {
		return nil
	}
	return []effect{send{msg.RequestSplit{Execution: e.Execution}}}
}

func (c *core) commitPrepared(e commitPrepared) []effect {
	if c.tasks[e.Execution] == nil || c.next != "" {
		return nil
	}
	return []effect{send{msg.CommitPrepared{Execution: e.Execution, Winners: e.Winners}}}
}

func (c *core) collected(e collected) []effect {
	t := c.tasks[e.Execution]
	if t == nil || c.next != "" {
		return nil
	}
	t.batches++
	return []effect{send{msg.CollectBatch{Execution: e.Execution, Sequence: t.batches - 1, Records: e.Records}}}
}

// acknowledged handles an acknowledgement, which covers all batches up to its own.
func (c *core) acknowledged(m msg.CollectAcknowledged) []effect {
	t := c.tasks[m.Execution]
	if t == nil || m.Sequence < t.acknowledged || m.Sequence >= t.batches {
		return nil
	}
	n := m.Sequence + 1 - t.acknowledged
	t.acknowledged += n
	return []effect{acknowledge{m.Execution, int(n)}}
}
