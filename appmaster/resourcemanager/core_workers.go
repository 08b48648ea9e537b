package resourcemanager

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/patience"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

type workerState int

const (
	starting  workerState = iota + 1 // announced by the provider
	connected                        // registered, over worker.connection
	lost                             // its connection is lost; it may register again until its deadline
	previous                         // of an earlier master, and has not returned
)

// worker is a container, from its WorkerStarting or PreviousWorkers until it has ended or the ResourceManager releases
// it. A worker of an earlier master that no PreviousWorkers names is one from its registration.
type worker struct {
	id         ids.ResourceID
	kind       *kind // nil while previous
	state      workerState
	earlier    bool        // it was started by an earlier master
	jobs       []ids.JobID // whose partitions it had when it returned, if the return of all was not over
	host       string
	connection actor.ConnectionID // its newest; 0 while it starts
	memory     memory.Worker
	vcores     int
	hardware   msg.Hardware
	lastSeen   time.Time
	silent     bool // it has not answered a question in time, and nothing has come from it since it was asked
	unanswered unanswered
	doubted    map[ids.HostID]*unanswered // its task hosts that have left a question unanswered; at most maxDoubted
	metrics    *msg.WorkerMetrics         // the last ones; nil: none came
	usage      *workerUsage               // nil: no metrics came
	cause      string                     // of the loss, while lost
	// deadline is when the ResourceManager gives the worker up: the end of its time to register, to
	// send a heartbeat, or to connect again.
	deadline patience.Deadline
}

// mayHave tells whether a worker of an earlier master had partitions of a job when it returned. A full list may lack some jobs.
func (w *worker) mayHave(job ids.JobID) bool {
	return len(w.jobs) == msg.MaxServedJobs || slices.Contains(w.jobs, job)
}

func (c *core) workersReported(events []WorkerEvent) {
	for _, event := range events {
		switch e := event.(type) {
		case PreviousWorkers:
			c.previousWorkers(e)
		case WorkerStarting:
			c.workerStarting(e)
		case WorkerFailed:
			c.workerEnded(e.Worker, NotStarted, "could not be started: "+e.Cause)
		case WorkerCompleted:
			c.workerEnded(e.Worker, EndedEarly, e.Cause)
		case NodesChanged:
			c.nodes = e.Nodes
			for _, k := range c.kinds {
				k.slots.BlocklistChanged()
			}
		case WorkersRefused:
			if k := c.kindOf(e.Spec); k != nil {
				k.slots.Refuse(e.Reason)
			}
		case RefusalEnded:
			if k := c.kindOf(e.Spec); k != nil {
				k.slots.Refuse("")
			}
		case OrdersTaken:
			if k := c.kindOf(e.Spec); k != nil {
				k.slots.Taken()
			}
		case WorkerLaunched:
			c.begin.launched(c.now, e.Worker)
		case RoomChanged:
			if k := c.kindOf(e.Spec); k != nil {
				k.room = e.Room
			}
		}
	}
}

func (c *core) workerStarting(e WorkerStarting) {
	k := c.kindOf(e.Spec)
	if k == nil {
		c.release = append(c.release, Release{Worker: e.Worker, Cause: "no worker of its kind was ordered"})
		return
	}
	k.starts++
	if c.shutdown != nil {
		return // it ends with the application
	}
	w := &worker{id: e.Worker, kind: k, state: starting, host: e.Host}
	c.await(w)
	c.begin.granted(c.now, w)
	if !k.noted {
		k.noted = true
		c.grants.add(c.now, k.plan.For)
	}
	k.slots.Expect(e.Worker)
}

// workerEnded handles that a container has ended, whatever the state of its connection. If the worker was to register, its start
// has failed for this reason.
func (c *core) workerEnded(id ids.ResourceID, why StartFailure, cause string) {
	w := c.workers[id]
	if w == nil {
		return
	}
	switch w.state {
	case starting:
		c.startFailed(w.kind, why, cause)
	case previous: // its process may return all the same: see mayReturn
	default:
		c.giveUp(w)
	}
	c.forget(w, cause)
}

// trusted returns metrics of a worker in which the hosts of unknown jobs are one of no job: users see the ids of jobs. A host may
// end after its job, and its memory counts for the container until then.
func (c *core) trusted(m msg.WorkerMetrics) *msg.WorkerMetrics {
	var unknown msg.HostMetrics
	known := make([]msg.HostMetrics, 0, len(m.Hosts))
	for _, h := range m.Hosts {
		if c.jobs[h.Job] != nil {
			known = append(known, h)
			continue
		}
		unknown.Resident += h.Resident
		unknown.Share += h.Share
	}
	if unknown != (msg.HostMetrics{}) {
		known = append(known, unknown)
	}
	m.Hosts = known
	return &m
}

func (c *core) taskExecutorSaid(e taskExecutorSaid) {
	if r, ok := e.Message.(msg.RegisterTaskExecutor); ok {
		c.registerTaskExecutor(e.From, r)
		return
	}
	w := c.connections[e.From.Connection]
	if w == nil {
		c.emit(dropped{Message: e.Message, From: string(e.From.Resource), Why: "its sender is not registered over this connection"})
		return
	}
	w.lastSeen, w.silent = c.now, false
	c.expect(w)
	switch m := e.Message.(type) {
	case msg.Heartbeat:
	case msg.SlotReport:
		c.slotsReported(w, m)
	case msg.SlotRequestsAnswered:
		for _, taken := range m.Taken {
			w.kind.slots.Answered(c.now, ids.SlotID{Resource: w.id, Index: taken.Index}, taken.Allocation, "")
		}
		for _, refused := range m.Refused {
			w.kind.slots.Answered(c.now, ids.SlotID{Resource: w.id, Index: refused.Index}, refused.Allocation, refused.Reason)
		}
	case msg.SlotsFreed:
		for _, freed := range m.Slots {
			w.kind.slots.Freed(c.now, ids.SlotID{Resource: w.id, Index: freed.Index}, freed.Allocation)
		}
	case msg.Inquired:
		c.inquired(w, m)
	case msg.Disconnect:
		c.disconnected(e.From, "it disconnected: "+m.Cause) // YARN may know why
	default:
		c.emit(dropped{Message: m, From: string(w.id), Why: "a TaskExecutor does not send this message to a ResourceManager"})
	}
}

// slotsReported takes over the slots of a worker, and its metrics if they can be true.
func (c *core) slotsReported(w *worker, m msg.SlotReport) {
	if err := w.kind.slots.Report(c.now, w.id, m.Slots); err != nil {
		c.terminate(w, err.Error())
		return
	}
	w.kind.slots.Serves(c.now, w.id, m.Partitions)
	if m.Metrics == nil {
		return
	}
	if err := m.Metrics.Check(len(m.Slots)); err != nil {
		c.emit(dropped{Message: m, From: string(w.id), Why: "its slots count, and not its metrics: " + err.Error()})
		return
	}
	c.countUsage(w, *m.Metrics)
	w.metrics = c.trusted(*m.Metrics)
}

// updateTokens sends the tokens to every connected TaskExecutor. The others get them when they
// register.
func (c *core) updateTokens(tokens msg.Secret) {
	c.tokens = tokens
	for _, id := range c.workerIDs() {
		if w := c.workers[id]; w.state == connected {
			c.emit(sendTaskExecutor{To: w.connection, Message: msg.UpdateTokens{Tokens: tokens}})
		}
	}
}

// disconnected gives a worker a short time to connect again, and asks the provider to check whether
// it has ended. The provider knows the reason, and usually knows it first.
func (c *core) disconnected(from actor.Peer, cause string) {
	w := c.connections[from.Connection]
	if w == nil {
		return
	}
	c.unlink(w)
	w.state, w.cause = lost, cause
	c.expect(w)
	w.kind.slots.Suspend(w.id)
	c.check = append(c.check, w.id)
}

// await adds a worker that is to register. From then on heartbeats are due, too: see heartbeat.
func (c *core) await(w *worker) {
	c.workers[w.id] = w
	c.expect(w)
	if c.nextHeartbeat.IsZero() {
		c.nextHeartbeat = c.now.Add(c.config.HeartbeatInterval)
	}
}

// expect sets a new deadline of a worker.
func (c *core) expect(w *worker) {
	w.deadline = patience.After(c.now, c.silence(w.state))
	c.nextExpiry = actor.Earliest(c.nextExpiry, w.deadline.At())
}

// excuse extends deadlines if the process itself was stopped. Each worker then has at least one
// heartbeat interval, in which the ResourceManager reads the messages that came meanwhile. The time in which workers
// of earlier masters return is put off, too: otherwise it would order others in place of those that have returned.
func (c *core) excuse() {
	late := patience.Late(c.now, c.alarm)
	if late == 0 {
		return
	}
	for _, w := range c.workers {
		w.deadline = w.deadline.Excuse(c.now, late, c.config.HeartbeatInterval)
	}
	returns := c.recoverBy()
	*returns = returns.Excuse(c.now, late, c.config.HeartbeatInterval)
}

// silence is how long a worker in this state may send nothing.
func (c *core) silence(state workerState) time.Duration {
	switch state {
	case starting, previous:
		return c.config.RegistrationTimeout
	case connected:
		return c.config.HeartbeatTimeout
	default:
		return c.config.ReconnectTimeout
	}
}

// expire gives up workers whose deadline has passed.
func (c *core) expire() {
	if c.nextExpiry.IsZero() || c.now.Before(c.nextExpiry) {
		return
	}
	c.nextExpiry = time.Time{}
	for _, id := range c.workerIDs() {
		w := c.workers[id]
		switch {
		case !w.deadline.Passed(c.now):
			c.nextExpiry = actor.Earliest(c.nextExpiry, w.deadline.At())
		case w.state == starting:
			c.fail(w, LateToStart, fmt.Sprintf("did not register within %v (resourcemanager.taskmanager-registration.timeout)",
				c.config.RegistrationTimeout))
		case w.state == previous:
			c.terminate(w, fmt.Sprintf("did not return within %v (resourcemanager.taskmanager-registration.timeout)",
				c.config.RegistrationTimeout))
		case w.state == connected:
			c.terminate(w, fmt.Sprintf("sent no heartbeat for %v (heartbeat.timeout)", c.config.HeartbeatTimeout))
		default:
			c.terminate(w, "lost its connection: "+w.cause)
		}
	}
}

// heartbeat sends a heartbeat to every connected TaskExecutor, once in each interval. The interval
// also runs while workers are only starting. Otherwise the ResourceManager would sleep until the
// first deadline, and could not notice that its process was stopped until shortly before that.
func (c *core) heartbeat() {
	if c.nextHeartbeat.IsZero() || c.now.Before(c.nextHeartbeat) {
		return
	}
	c.nextHeartbeat = time.Time{}
	if len(c.workers) > 0 {
		c.nextHeartbeat = c.now.Add(c.config.HeartbeatInterval)
	}
	for _, id := range c.workerIDs() {
		if w := c.workers[id]; w.state == connected {
			c.emit(sendTaskExecutor{To: w.connection, Message: msg.Heartbeat{Workers: len(c.workers)}})
		}
	}
}

// fail gives up a worker and counts this as a failed start, unless an earlier master has started it.
func (c *core) fail(w *worker, why StartFailure, cause string) {
	if !w.earlier {
		c.startFailed(w.kind, why, cause)
	}
	c.terminate(w, cause)
}

// terminate gives up a worker that may still run, and has the provider end it.
func (c *core) terminate(w *worker, cause string) {
	c.release = append(c.release, Release{Worker: w.id, Cause: cause})
	c.giveUp(w)
	c.forget(w, cause)
}

// forget removes a worker from all tables. A connected worker is told
// to end: its process may run although YARN says that its container has ended, because YARN has lost only the
// NodeManager. Nothing would count the slots that it goes on to offer.
func (c *core) forget(w *worker, cause string) {
	c.begin.ended(c.now, w.id, cause)
	if w.state == connected {
		c.emit(sendTaskExecutor{To: w.connection, Message: msg.ReleaseTaskExecutor{Cause: cause}})
		c.unlink(w)
	}
	if w.state == previous {
		c.recovery.missing--
	} else {
		c.forgetSlots(w, cause)
	}
	delete(c.workers, w.id)
	c.emit(workerGone{Worker: w.id, Cause: cause})
}

// forgetSlots removes the slots of a worker, and tells the jobs that had some, and those that may wait for what it has.
func (c *core) forgetSlots(w *worker, cause string) {
	concerned := w.kind.slots.Holders(w.id)
	if len(w.jobs) > 0 {
		for _, id := range slices.Sorted(maps.Keys(c.jobs)) {
			if w.mayHave(id) && !slices.Contains(concerned, id) {
				concerned = append(concerned, id)
			}
		}
	}
	for _, id := range concerned {
		if job := c.jobs[id]; job != nil {
			c.emit(sendJobMaster{To: job.id, Message: msg.TaskExecutorTerminated{Resource: w.id, Cause: cause}})
		}
	}
	w.kind.slots.Remove(w.id)
}
