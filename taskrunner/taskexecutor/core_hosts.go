package taskexecutor

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

const (
	// hostStopGrace is how long a host may live after it was told to stop, or has said that it
	// ends. Then it is killed.
	hostStopGrace = 5 * time.Second
	// hostReadyTimeout is how long a host may take to say hello, and then again to get ready after
	// it was told its job. Each takes milliseconds, unless the program waits for something.
	hostReadyTimeout = 2 * time.Minute
	// maxEarly is the number of hosts in a row that may end before they are ready. Then this worker
	// cannot run a host of the job.
	maxEarly = 2
	// A host is brief if it ends less than briefLife after it was ready. After the first brief host
	// the next one starts at once, then after pauses that double from firstPause to longestPause.
	briefLife    = 10 * time.Second
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
	// maxOutput bounds the part of a host's output that a failure quotes, in bytes. Together with
	// the first line it fits into msg.Failure.
	maxOutput = 2 << 10
)

// host is one start of a job's task host.
type host struct {
	id         ids.HostID
	greeted    bool // it said hello
	instructed bool // it was told its job
	// settings are those parts of the registration at the JobMaster with which the host was told its job.
	settings *msg.RegisteredAtJobMaster
	ready    time.Time
	tasks    map[ids.ExecutionAttemptID][]uint64 // the inputs of those that were deployed, and whose end it has not reported
	address  string                              // of its end of the data plane, once it is ready
	// as is the id by which the JobMaster knows the host: that of the start, or of the last reset.
	as ids.HostID
	// told says that the present JobMaster knows that the host is ready. Only then its tasks are those of the JobMaster.
	told bool
	// resetting says that the host has not answered ResetHost yet.
	resetting bool
	stopping  bool  // told to end, or killed for it
	watch     watch // used once the host is ready
	// failure is why the host ends, by its own report or by our decision.
	failure *msg.Failure
	reason  msg.HostLostReason // with failure: HostFull, or HostFailed
}

// ensureHost starts a host if a job needs one and its program is here. After the loss of the
// JobMaster it waits until the JobMaster is back.
func (c *core) ensureHost(j *job) {
	switch {
	case c.ending != nil, j.host != nil, j.restart != "", j.unavailable != nil, len(c.slots.held(j.id)) == 0:
		return
	case j.program.state == artifactFetching:
		return
	case j.link.state != linkAdmitted && j.link.failures > 0:
		return
	}
	c.started++
	id := ids.NewHostID(c.config.Resource, c.started)
	j.host = &host{id: id, as: id}
	c.hosts[j.host.id] = j
	c.emit(startHost{Host: j.host.id, Job: j.id, Program: j.program.path, Memory: c.slots.memory(j.id)})
	c.allow(timer{Kind: timerHostReady, Host: j.host.id}, hostReadyTimeout)
}

// instructHost tells a host its job, once the host and the job are known and the job's files are
// here.
func (c *core) instructHost(j *job) {
	h := j.host
	if h == nil || !h.greeted || h.instructed || h.stopping || j.link.state != linkAdmitted || j.waits() {
		return
	}
	h.instructed, h.settings = true, j.settings
	h.watch = newWatch(c.now, j.link.watch.interval, j.link.watch.timeout)
	c.emit(instructHost{
		Host: h.id, Job: j.settings.Job, Files: j.paths(), Tokens: c.tokens, Memory: c.slots.memory(j.id),
		HeartbeatTimeout: h.watch.timeout, Share: j.settings.Tasks,
	})
	c.allow(timer{Kind: timerHostReady, Host: h.id}, hostReadyTimeout)
}

// hostLate kills a host that does not get ready in time. A host that waits for its job is not late.
func (c *core) hostLate(id ids.HostID) {
	j := c.hosts[id]
	if j == nil {
		return
	}
	h := j.host
	if h.stopping || h.failure != nil || !h.ready.IsZero() || h.greeted && !h.instructed {
		return
	}
	fault := "it did not say hello: the program must call bobbin.Main before anything else"
	if h.instructed {
		fault = "it did not get ready to run the job's tasks: a plan function must not wait for anything"
	}
	h.failure = msg.NewFailure(fmt.Sprintf("task host of job %s was ended after %s: %s",
		j.name(), hostReadyTimeout, fault), "")
	c.emit(killHost{h.id})
}

// beatHost sends a heartbeat to a host, and kills a host that does not answer: its process is
// stopped, or has so little memory or processor time that its tasks make no progress.
func (c *core) beatHost(id ids.HostID) {
	j := c.hosts[id]
	if j == nil || j.host.stopping || j.host.failure != nil {
		return
	}
	h := j.host
	if lost := h.watch.look(c.now); lost != "" {
		h.failure = msg.NewFailure(fmt.Sprintf("task host of job %s was ended: %s", j.name(), lost), "")
		c.emit(killHost{id})
		return
	}
	c.emit(sendHost{id, msg.Heartbeat{}})
	c.set(timer{Kind: timerHostHeartbeat, Host: id}, h.watch.interval)
}

// setHostMemory updates the memory of a job's host after the job's slots have changed.
func (c *core) setHostMemory(j *job) {
	if j.host == nil || j.host.stopping {
		return
	}
	held := c.slots.memory(j.id)
	c.emit(setHostMemory{Host: j.host.id, Memory: held})
	if j.host.instructed {
		c.emit(sendHost{j.host.id, msg.SetMemory{Memory: held}})
	}
}

// updateTokens passes new tokens to the fetches and hosts of this worker. The ResourceManager repeats the
// tokens with each registration, so equal ones are ignored.
func (c *core) updateTokens(m msg.UpdateTokens) {
	if bytes.Equal(c.tokens, m.Tokens) {
		return
	}
	c.tokens = m.Tokens
	c.emit(updateTokens{c.tokens})
	c.fetchRefused()
	for _, id := range slices.Sorted(maps.Keys(c.hosts)) {
		if h := c.hosts[id].host; h.instructed && !h.stopping {
			c.emit(sendHost{id, m})
		}
	}
}

// sendHost passes on a message of the JobMaster.
func (c *core) sendHost(j *job, m msg.Message) {
	if j.host != nil && j.host.told && !j.host.stopping {
		c.emit(sendHost{j.host.id, m})
	}
}

// deploy passes on tasks for the job's host, and notes them.
func (c *core) deploy(j *job, m msg.DeployTasks) {
	h := j.host
	if !h.told || h.stopping {
		return
	}
	if h.tasks == nil {
		h.tasks = make(map[ids.ExecutionAttemptID][]uint64, len(m.Tasks))
	}
	for _, task := range m.Tasks {
		h.tasks[task.Execution] = task.Inputs
	}
	c.emit(sendHost{h.id, m})
}

// splitAssigned passes on a split, and notes that its task reads it.
func (c *core) splitAssigned(j *job, m msg.SplitAssigned) {
	if j.host != nil && len(j.host.tasks[m.Execution]) == 1 {
		j.host.tasks[m.Execution] = []uint64{j.host.tasks[m.Execution][0] + m.Lineage} // the slice may be in a message
	}
	c.sendHost(j, m)
}

// stopHost tells a job's host to end, and kills it after hostStopGrace. A stopping host takes no
// tasks. The JobMaster must learn this before it gets another slot here; otherwise it would send
// tasks to this host.
func (c *core) stopHost(j *job, cause string) {
	h := j.host
	if h == nil || h.stopping {
		return
	}
	h.stopping = true
	if h.told {
		text := fmt.Sprintf("task host of job %s is stopped: %s", j.name(), cause)
		c.sendJobMaster(j, msg.HostLost{Host: h.as, Failure: *msg.NewFailure(text, ""), Reason: msg.HostStopped})
	}
	c.emit(sendHost{h.id, msg.StopHost{Cause: cause}})
	c.allow(timer{Kind: timerHostStop, Host: h.id}, hostStopGrace)
}

func (c *core) hostSaid(e hostSaid) {
	j := c.hosts[e.Host]
	if j == nil {
		return
	}
	h := j.host
	h.watch.heard(c.now)
	switch m := e.Message.(type) {
	case msg.HostHello:
		if m.ProtocolVersion != jobgraph.ProtocolVersion {
			h.failure = msg.NewFailure(fmt.Sprintf("program speaks protocol version %d, and the cluster speaks %d; build the program with the cluster's version of the SDK",
				m.ProtocolVersion, jobgraph.ProtocolVersion), "")
			h.failure.Permanent = true
			c.emit(killHost{h.id})
			return
		}
		h.greeted = true
		c.instructHost(j)
	case msg.HostReady:
		c.hostReady(j, m)
	case msg.HostLost:
		c.hostEnds(h, m.Failure)
	case msg.CollectBatch: // larger ones would fill the memory of this worker while the JobMaster is stopped
		if len(m.Records) > operator.MaxCollectBatch {
			c.endForFault(j, fault{text: fmt.Sprintf("it broke the protocol: it collects %d bytes in one batch, and %d are the limit", len(m.Records), operator.MaxCollectBatch)})
			return
		}
		c.passUp(j, m)
	case msg.Inquired:
		c.hostInquired(e.Host, m)
	case msg.TaskStatesChanged:
		c.tasksChanged(j, m)
	case msg.TasksProgress, msg.RequestSplit, msg.CommitPrepared:
		c.passUp(j, m)
	default: // Heartbeat; a host sends nothing else
	}
}

// fault is why a host is ended for what it has sent.
type fault struct {
	text      string
	permanent bool // any other host would send it, too
	reason    msg.HostLostReason
}

// endForFault kills a host because of what it has sent.
func (c *core) endForFault(j *job, f fault) {
	if j.host.failure == nil {
		j.host.failure = msg.NewFailure(fmt.Sprintf("task host of job %s was ended, because %s", j.name(), f.text), "")
		j.host.failure.Permanent, j.host.reason = f.permanent, f.reason
		c.emit(killHost{j.host.id})
	}
}

// hostEnds handles the report of a host that it ends, and why. It may hang while it closes its
// files.
func (c *core) hostEnds(h *host, why msg.Failure) {
	if h.failure != nil {
		return // the first reason counts
	}
	h.failure = &why
	if !h.stopping {
		c.allow(timer{Kind: timerHostStop, Host: h.id}, hostStopGrace)
	}
}

func (c *core) hostOverMemory(e hostOverMemory) {
	j := c.hosts[e.Host]
	if j == nil || j.host.failure != nil {
		return
	}
	j.host.failure = msg.NewFailure(fmt.Sprintf(
		"task host of job %s was ended because the container was about to exceed its memory: the host held %d MB, and its share is %d MB (%s); raise %s (the container has %d MB) or let the job hold less memory",
		j.name(), e.Resident.Megabytes(), e.Share.Megabytes(), c.slots.memory(j.id), c.config.Memory.SizedBy(), c.config.Memory.ContainerMB()), "")
	c.emit(killHost{e.Host})
}

func (c *core) hostExited(e hostExited) {
	j := c.hosts[e.Host]
	if j == nil {
		return
	}
	h := j.host
	delete(c.hosts, e.Host)
	j.host = nil
	c.endInquiries("it has ended", func(q openInquiry) bool { return q.host == h.id })
	c.tidyAfter(j, h)
	switch {
	case c.ending != nil:
		c.endIfIdle()
		return
	case len(c.slots.held(j.id)) == 0:
		c.settle(j, "job has no slot on this worker any more")
		return
	case !h.stopping:
		c.hostFailed(j, h, e.Exit)
	}
	c.settle(j, "")
	c.ensureHost(j)
}

// hostFailed handles the unexpected end of a host.
func (c *core) hostFailed(j *job, h *host, exit Exit) {
	lost := msg.HostLost{Host: h.as, Failure: c.failureOf(j, h, exit), Reason: h.reason}
	if h.ready.IsZero() {
		j.early++
		if j.early >= maxEarly && !lost.Failure.Permanent {
			lost.Reason = msg.HostUnavailable
		}
	}
	c.sendJobMaster(j, lost)
	if lost.Failure.Permanent || lost.Reason != msg.HostFailed {
		j.unavailable = &lost
		return
	}
	if !h.ready.IsZero() && c.now.Sub(h.ready) >= briefLife {
		j.brief = 0
		return
	}
	j.brief++
	if j.brief > 1 {
		pause := min(firstPause<<min(j.brief-2, 16), longestPause)
		j.restart = h.id
		c.set(timer{Kind: timerHostStart, Job: j.id, Host: h.id}, pause)
	}
}

// failureOf describes for users how a host ended.
func (c *core) failureOf(j *job, h *host, exit Exit) msg.Failure {
	if h.failure != nil {
		return *h.failure
	}
	var text strings.Builder
	fmt.Fprintf(&text, "task host of job %s ended unexpectedly: %s", j.name(), exit.How)
	if announcement := exit.announcement(); announcement != "" {
		fmt.Fprintf(&text, ": %s", announcement)
	}
	if output := exit.lastWords(); output != "" {
		text.WriteString("\nits last output:\n")
		text.WriteString(output[max(0, len(output)-maxOutput):])
	}
	_, stack, _ := strings.Cut(exit.Crash, "\n")
	return *msg.NewFailure(text.String(), strings.TrimSpace(stack))
}

// lastWords is the last output of a host before its crash. The stack of the crash has its own
// field.
func (e Exit) lastWords() string {
	announcement, _, _ := strings.Cut(e.Crash, "\n")
	if announcement == "" {
		return e.Output
	}
	before := strings.LastIndex("\n"+e.Output, "\n"+announcement)
	return strings.TrimSpace(e.Output[:max(0, before)]) // empty if a long stack has replaced it
}

// announcement is the first line of a crash.
func (e Exit) announcement() string {
	line, _, _ := strings.Cut(e.Crash, "\n")
	const long = 1 << 10
	return line[:min(len(line), long)]
}
