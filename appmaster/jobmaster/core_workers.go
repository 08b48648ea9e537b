package jobmaster

import (
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/patience"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/failover"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/slotpool"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// maxAddress bounds the address of a worker's server of partitions, in bytes: a host name has 253 at most.
const maxAddress = 300

// worker is a TaskExecutor that registered at this JobMaster. It stays without slots as long as it is connected, because it may serve
// partitions.
type worker struct {
	resource   ids.ResourceID
	node       string             // name of its node
	kind       int                // of its slots
	connection actor.ConnectionID // its newest
	connected  bool               // false once the connection is lost
	heard      time.Time          // its last message
	broken     string             // why the connection was lost
	deadline   patience.Deadline  // then it counts as lost, unless a message comes before

	host        ids.HostID // the job's host on it; "" while none is ready
	dataAddress string
	partitions  string            // the address of its server of partitions; "": it has none
	outage      outage            // of this server
	lost        map[int]time.Time // by disk: when the restart strategy last decided about a partition there that is lost
	// holds are the tasks whose partitions it still has, as it tells after it has connected again. nil: it has told all, or has none.
	holds  map[ids.ExecutionAttemptID]bool
	told   bool // it has told all that it has of the time before its connection
	proven bool // a host was ready there, and neither HostUnavailable nor HostFull came after that
}

// ready tells whether the job has a host on the worker.
func (w *worker) ready() bool { return w.connected && w.host != "" }

// server is the host id of the worker's server of partitions; "" if it has none.
func (w *worker) server() ids.HostID {
	if w.partitions == "" {
		return ""
	}
	return ids.PartitionHost(w.resource)
}

// takesTasks tells whether a worker's host can take tasks. It takes none while it has cancelled ones: a task that does not end
// ends its host, and new tasks would be lost with it. Their region would then be cancelled in other hosts, and so on for ever.
// A worker on a node that the job avoids takes none either.
func (c *core) takesTasks(w *worker) bool {
	return w.ready() && c.graph.Canceling(w.host) == 0 && !c.avoids(w)
}

// over tells whether this connection is the worker's, and is not lost.
func (w *worker) over(connection actor.ConnectionID) bool {
	return w.connected && w.connection == connection
}

// setHost notes the job's host on a worker, or that none is ready.
func (c *core) setHost(w *worker, host ids.HostID, dataAddress string) {
	delete(c.byHost, w.host)
	w.host, w.dataAddress = host, dataAddress
	if host != "" {
		c.byHost[host] = w
	}
	c.pool.SetReady(w.resource, c.takesTasks(w))
}

// byWorker gathers the parts of messages, so that each worker gets one message. The workers are in
// the order of their first part.
type byWorker[T any] struct {
	workers []*worker
	parts   map[*worker][]T
}

func (b *byWorker[T]) add(w *worker, part T) {
	if b.parts == nil {
		b.parts = make(map[*worker][]T)
	}
	if b.parts[w] == nil {
		b.workers = append(b.workers, w)
	}
	b.parts[w] = append(b.parts[w], part)
}

func (c *core) send(w *worker, m msg.Message) {
	if w.connected {
		c.emit(sendTaskExecutor{To: w.connection, Message: m})
	}
}

func (c *core) taskExecutorSaid(e taskExecutorSaid) {
	w := c.byResource[e.From.Resource]
	if registration, is := e.Message.(msg.RegisterAtJobMaster); is {
		c.register(e.From, w, registration)
		return
	}
	if w == nil || !w.over(e.From.Connection) {
		c.emit(dropped{From: e.From, Message: e.Message, Why: "its sender is not registered over this connection"})
		return
	}
	if disconnect, is := e.Message.(msg.Disconnect); is {
		c.disconnected(e.From, "it disconnected: "+disconnect.Cause)
		return
	}
	w.heard, w.deadline = c.now, patience.After(c.now, c.config.HeartbeatTimeout)
	switch m := e.Message.(type) {
	case msg.Heartbeat:
	case msg.OfferSlots:
		c.slotsOffered(w, m.Offers)
	case msg.HostReady:
		c.hostReady(w, m)
	case msg.HostLost:
		c.hostLost(w, m)
	case msg.TaskStatesChanged:
		for _, change := range m.Changes {
			c.taskStateChanged(w, change, e)
		}
	case msg.TasksProgress:
		for _, progress := range m.Tasks {
			if task := c.task(w, progress.Execution, e); task != nil {
				task.Report(progress.Metrics, c.now)
				c.reportUser(task, progress.User)
			}
		}
	case msg.HeldPartitions:
		c.partitionsHeld(w, m)
	case msg.RequestSplit:
		c.splitRequested(w, e)
	case msg.CommitPrepared:
		c.commitPrepared(w, e)
	case msg.CollectBatch:
		c.batchCollected(w, e)
	default:
		c.emit(dropped{From: e.From, Message: e.Message, Why: "a TaskExecutor does not send this message to a JobMaster"})
	}
}

// register admits a TaskExecutor. If it registers again over a newer connection, it ends the tasks there, and
// announces the job's host anew, under another id. Then only proven stays of the old entry. A TaskExecutor opens a
// connection only after it has given up the last one, so a registration over an older connection is stale: this
// process, or the network, has held it back.
func (c *core) register(from actor.Peer, old *worker, m msg.RegisterAtJobMaster) {
	if m.Resource != from.Resource {
		c.emit(closeTaskExecutor{To: from.Connection, Cause: fmt.Sprintf("registration of %s comes from %s", m.Resource, from.Resource)})
		return
	}
	kind := slices.Index(c.layout.profiles, m.Profile)
	if kind < 0 {
		c.emit(closeTaskExecutor{To: from.Connection, Cause: fmt.Sprintf("the job needs no slots with %s", m.Profile)})
		return
	}
	switch {
	case old == nil:
	case from.Connection == old.connection:
		c.emit(dropped{From: from, Message: m, Why: "it is registered already"})
		return
	case from.Connection < old.connection:
		const why = "it has registered over a newer connection"
		c.emit(dropped{From: from, Message: m, Why: why})
		c.emit(closeTaskExecutor{To: from.Connection, Cause: why})
		return
	default:
		c.leave(old, "it connected again", true)
	}
	c.reached(msg.StepWorker)
	w := &worker{
		resource: m.Resource, node: m.Host, kind: kind, connection: from.Connection, connected: true,
		heard: c.now, deadline: patience.After(c.now, c.config.HeartbeatTimeout),
		proven: old != nil && old.proven, partitions: clip(m.PartitionAddress, maxAddress), lost: make(map[int]time.Time),
	}
	if old != nil {
		w.holds = make(map[ids.ExecutionAttemptID]bool)
	}
	c.expireBy(w.deadline.At())
	c.workers = append(c.workers, w)
	c.byResource[w.resource] = w
	if server := w.server(); server != "" {
		c.byHost[server] = w
		c.serverReturned(server)
	}
	g := c.config.Graph
	c.send(w, msg.RegisteredAtJobMaster{
		JobMaster: c.config.JobMaster,
		Job: msg.JobSpec{
			ID: c.config.Job, Job: g.Job, Name: g.Name, Args: g.Args, Digest: g.Digest,
			Parallelism: c.config.Parallelism, Config: g.Config, Files: g.Files,
		},
		Tasks:             c.graph.Total(),
		HeartbeatInterval: c.config.HeartbeatInterval,
		HeartbeatTimeout:  c.config.HeartbeatTimeout,
	})
}

// slotsOffered takes the slots that the job still lacks. It does not answer a worker that is set
// aside, or whose node it avoids. After taskmanager.slot.timeout the worker gives the slots back. A refusal would let the
// ResourceManager grant them to this job again at once, in a loop.
func (c *core) slotsOffered(w *worker, offers []msg.SlotOffer) {
	if c.active() && (c.setAside(w) || c.avoids(w)) {
		return
	}
	var answer msg.SlotOffersAnswered
	for _, o := range offers {
		if c.active() && c.pool.Offer(slotpool.Slot{Allocation: o.Allocation, Resource: w.resource, Kind: w.kind}, c.now) {
			answer.Accepted = append(answer.Accepted, o.Allocation)
			c.supplied = c.supplied || c.takesTasks(w)
		} else {
			answer.Rejected = append(answer.Rejected, o.Allocation)
		}
	}
	c.send(w, answer)
}

// freeSlots gives slots back to their workers.
func (c *core) freeSlots(slots []slotpool.Slot, cause string) {
	var freed byWorker[ids.AllocationID]
	for _, s := range slots {
		freed.add(c.byResource[s.Resource], s.Allocation) // the slots of a lost worker are gone with it
	}
	for _, w := range freed.workers {
		c.send(w, msg.FreeSlots{Allocations: freed.parts[w], Cause: cause})
	}
}

// giveUpSlots frees the slots that the job does not need any more.
func (c *core) giveUpSlots() {
	if !c.active() {
		return
	}
	if freed := c.pool.GiveUp(c.now, c.config.SlotIdleTimeout); len(freed) > 0 {
		c.freeSlots(freed, fmt.Sprintf("idle for %s", c.config.SlotIdleTimeout))
	}
}

func (c *core) hostReady(w *worker, m msg.HostReady) {
	if w.host != "" && w.host != m.Host {
		c.loseHost(w, failover.HostLost, msg.Failure{Message: fmt.Sprintf("host %s was replaced", w.host)})
	}
	c.setHost(w, m.Host, m.DataAddress)
	w.proven = true
	c.supplied = true
	c.reached(msg.StepHost)
}

// hostLost handles that the job's host on a worker takes no more tasks. The TaskExecutor starts
// another host if it can, unless no host can run the job.
func (c *core) hostLost(w *worker, m msg.HostLost) {
	kind := failover.HostLost
	switch {
	case m.Reason == msg.HostStopped, c.endedBeside(m.Host):
		kind = failover.HostStopped
	case m.Reason == msg.HostFull:
		kind = failover.HostFull
	}
	if w.host == m.Host {
		c.loseHost(w, kind, m.Failure)
	}
	switch {
	case m.Failure.Permanent:
		c.failWith(msg.ExceptionEntry{
			Time: c.now, Failure: clipped(m.Failure), Location: w.node, Resource: w.resource,
		})
	case m.Reason == msg.HostUnavailable, m.Reason == msg.HostFull:
		c.hostUnavailable(w, m)
	}
}

// disconnected handles that a connection is lost, or that the TaskExecutor disconnected, for
// example because YARN stops its container. This is the first sign that the worker is lost, but not
// the reason: see lossGrace.
func (c *core) disconnected(from actor.Peer, cause string) {
	w := c.byResource[from.Resource]
	if w == nil || !w.over(from.Connection) {
		return // it disconnected before, or the JobMaster closed the connection
	}
	w.connected = false
	c.pool.SetReady(w.resource, false)
	w.broken = cause
	w.deadline = patience.After(c.now, lossGrace)
	c.expireBy(w.deadline.At())
}

// lose removes a worker that is gone, with its tasks, slots and partitions.
func (c *core) lose(w *worker, cause string) { c.leave(w, cause, false) }

// leave removes a worker that is gone. keeps says that it may still have its partitions.
func (c *core) leave(w *worker, cause string, keeps bool) {
	c.emit(workerGone{Resource: w.resource, Cause: cause})
	if w.connected {
		c.emit(closeTaskExecutor{To: w.connection, Cause: cause})
		w.connected = false
	}
	delete(c.byResource, w.resource)
	delete(c.byHost, w.server())
	at := slices.Index(c.workers, w)
	c.workers = slices.Delete(c.workers, at, at+1)
	c.pool.RemoveWorker(w.resource, c.now)
	c.loseWorker(w, cause, keeps)
	c.setHost(w, "", "")
}

// expireBy makes sure that expire looks at the workers when this deadline passes.
func (c *core) expireBy(deadline time.Time) {
	if len(c.workers) == 0 || deadline.Before(c.nextExpiry) {
		c.nextExpiry = deadline
	}
}

// waits gives the deadlines of what the job waits for, but for those of its workers and clients.
func (c *core) waits() iter.Seq[*patience.Deadline] {
	return func(yield func(*patience.Deadline) bool) {
		for _, find := range [...]func(*core) (*patience.Deadline, bool){
			(*core).slotDeadline, (*core).yieldTime, (*core).divideTime, (*core).returnTime, (*core).heldTime, (*core).askTime,
		} {
			if d, waits := find(c); waits && !yield(d) {
				return
			}
		}
	}
}

// excuse extends deadlines if the process itself was stopped. Each peer for whom the job waits then
// has at least one heartbeat interval, in which the JobMaster reads the messages that came
// meanwhile.
func (c *core) excuse() {
	late := patience.Late(c.now, c.alarm)
	if late == 0 {
		return
	}
	putOff := func(d *patience.Deadline) { *d = d.Excuse(c.now, late, c.config.HeartbeatInterval) }
	for _, w := range c.workers {
		putOff(&w.deadline)
	}
	for d := range c.waits() {
		putOff(d)
	}
	putOff(&c.clients)
	if at, speculates := c.speculates(); speculates && at.Before(c.now.Add(c.config.HeartbeatInterval)) {
		c.speculation.next = c.now.Add(c.config.HeartbeatInterval) // by then the tasks have told their ends
	}
}

// expire handles deadlines that have passed.
func (c *core) expire() {
	if len(c.workers) > 0 && !c.now.Before(c.nextExpiry) {
		c.nextExpiry = c.now.Add(c.config.HeartbeatTimeout)
		for _, w := range slices.Clone(c.workers) {
			switch {
			case !w.deadline.Passed(c.now):
				c.expireBy(w.deadline.At())
			case !w.connected:
				c.lose(w, w.broken)
			default:
				c.lose(w, fmt.Sprintf("no heartbeat for %s (heartbeat.timeout)", c.config.HeartbeatTimeout))
			}
		}
	}
	if c.blocklist.Expire(c.now) {
		c.tellBlocked()
	}
	c.useSlowNodes(false)
	if at, returns := c.returnTime(); returns && at.Passed(c.now) {
		c.giveUpSpeculation()
	}
	if at, speculates := c.speculates(); speculates && !c.now.Before(at) {
		c.findSlow()
	}
	if at, waits := c.heldTime(); waits && at.Passed(c.now) {
		c.endHeldTime()
	}
	if at, divides := c.divideTime(); divides && at.Passed(c.now) {
		c.divideStarved("")
	}
	if at, yields := c.yieldTime(); yields && at.Passed(c.now) {
		c.yielded = true
		c.giveWay("no part of the job can run with the slots that an earlier ApplicationMaster has granted")
	}
	if deadline, starved := c.slotDeadline(); starved && deadline.Passed(c.now) {
		c.slotsTimedOut()
	}
}

// heartbeat sends a heartbeat to every worker.
func (c *core) heartbeat() {
	if c.now.Before(c.nextHeartbeat) {
		return
	}
	c.nextHeartbeat = c.now.Add(c.config.HeartbeatInterval)
	for _, w := range c.workers {
		c.send(w, msg.Heartbeat{})
	}
}
