package taskexecutor

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/memory"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

const (
	// hostStopGrace is how long a host that was told to stop, or says that it ends, may
	// take before it is killed.
	hostStopGrace = 5 * time.Second
	// hostReadyTimeout is how long a host may take to say hello, and again to get
	// ready once it was told its job. Either takes milliseconds, unless the
	// program waits for something.
	hostReadyTimeout = 2 * time.Minute
	// maxEarly is the number of hosts in a row that may end before they are ready;
	// then this worker can have none.
	maxEarly = 2
	// A host that ends sooner than briefLife after it was ready was brief. The
	// first brief one is followed by another at once, the next ones after pauses
	// from firstPause, doubling, to longestPause.
	briefLife    = 10 * time.Second
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
	// maxOutput bounds what a failure quotes of a host's output, in bytes: with
	// the first line it stays below msg.Failure's bound.
	maxOutput = 2 << 10
)

// host is one start of a job's task host.
type host struct {
	id         ids.HostID
	greeted    bool // it said hello
	instructed bool // it was told its job
	ready      time.Time
	stopping   bool  // told to end, or killed for it
	watch      watch // looked at from when it is ready
	// failure is why the host ends, as it said itself or as we decided.
	failure *msg.Failure
}

// ensureHost starts a host where a job needs one and its program is here. After
// its JobMaster was lost that waits until it is back.
func (c *core) ensureHost(j *job) {
	switch {
	case c.ending != nil, j.host != nil, j.restart != "", j.unavailable != nil, len(c.slots.held(j.id)) == 0:
		return
	case j.program.state == programFetching:
		return
	case j.link.state != linkAdmitted && j.link.failures > 0:
		return
	}
	j.host = &host{id: ids.HostID(c.hostIDs.Next())}
	c.hosts[j.host.id] = j
	c.emit(startHost{Host: j.host.id, Job: j.id, Program: j.program.file, MemoryMB: c.slots.memoryMB(j.id)})
	c.allow(timer{Kind: timerHostReady, Host: j.host.id}, hostReadyTimeout)
}

// instructHost tells a host its job, once both are known.
func (c *core) instructHost(j *job) {
	h := j.host
	if h == nil || !h.greeted || h.instructed || h.stopping || j.link.state != linkAdmitted {
		return
	}
	h.instructed = true
	h.watch = newWatch(c.now, j.link.watch.interval, j.link.watch.timeout)
	memoryMB := c.slots.memoryMB(j.id)
	c.emit(instructHost{
		Host: h.id, Job: *j.spec, Tokens: c.tokens,
		MemoryMB: memoryMB, Network: memory.HostOf(memoryMB, c.config.Memory).Network,
		HeartbeatTimeout: h.watch.timeout, Share: j.tasks,
	})
	c.allow(timer{Kind: timerHostReady, Host: h.id}, hostReadyTimeout)
}

// hostLate ends a host that does not get ready. One that waits to be told its job
// is not to blame.
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

// beatHost asks a host for a sign of life, and ends one that gives none: its process
// is stopped, or so short of memory or processors that nothing comes of its tasks.
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

// setHostMemory takes in that the job's slots have changed.
func (c *core) setHostMemory(j *job) {
	if j.host == nil || j.host.stopping {
		return
	}
	memoryMB := c.slots.memoryMB(j.id)
	c.emit(setHostMemory{Host: j.host.id, MemoryMB: memoryMB})
	if j.host.instructed {
		c.emit(sendHost{j.host.id, msg.SetMemory{MemoryMB: memoryMB}})
	}
}

// updateTokens passes new tokens on to the hosts that have had others. The
// ResourceManager repeats them with each registration.
func (c *core) updateTokens(m msg.UpdateTokens) {
	if bytes.Equal(c.tokens, m.Tokens) {
		return
	}
	c.tokens = m.Tokens
	for _, id := range slices.Sorted(maps.Keys(c.hosts)) {
		if h := c.hosts[id].host; h.instructed && !h.stopping {
			c.emit(sendHost{id, m})
		}
	}
}

func (c *core) sendHost(j *job, m msg.Message) {
	if j.host != nil && !j.host.ready.IsZero() && !j.host.stopping {
		c.emit(sendHost{j.host.id, m})
	}
}

// stopHost lets a job's host end by itself, for a while. It takes no tasks any more,
// which its JobMaster has to know before it gets another slot here: it would send
// them to this host.
func (c *core) stopHost(j *job, cause string) {
	h := j.host
	if h == nil || h.stopping {
		return
	}
	h.stopping = true
	if !h.ready.IsZero() {
		text := fmt.Sprintf("task host of job %s is stopped: %s", j.name(), cause)
		c.sendJobMaster(j, msg.HostLost{Host: h.id, Failure: *msg.NewFailure(text, ""), Reason: msg.HostStopped})
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
		if h.instructed && !h.stopping {
			h.ready, j.early = c.now, 0
			h.watch = newWatch(c.now, h.watch.interval, h.watch.timeout)
			c.set(timer{Kind: timerHostHeartbeat, Host: h.id}, h.watch.interval)
			m.Host = h.id
			c.sendJobMaster(j, m)
		}
	case msg.HostLost:
		c.hostEnds(h, m.Failure)
	case msg.TaskStatesChanged, msg.TasksProgress, msg.RequestSplit, msg.CollectBatch:
		c.sendJobMaster(j, m)
	default: // Heartbeat; a host has nothing else to say
	}
}

// hostEnds takes in that a host ends, and why. What it has to close may hang.
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
		"task host of job %s was ended because the container was about to exceed its memory: the host held %d MB, and its share is %d MB; raise %s (now %dm) or let the job hold less memory",
		j.name(), e.Resident.Megabytes(), e.Share.Megabytes(), config.TaskManagerProcessSize, c.config.MemoryMB), "")
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

// hostFailed takes in that a host has ended which should not have.
func (c *core) hostFailed(j *job, h *host, exit Exit) {
	lost := msg.HostLost{Host: h.id, Failure: c.failureOf(j, h, exit)}
	if h.ready.IsZero() {
		if j.early++; j.early >= maxEarly && !lost.Failure.Permanent {
			lost.Reason = msg.HostUnavailable
		}
	}
	c.sendJobMaster(j, lost)
	if lost.Failure.Permanent || lost.Reason == msg.HostUnavailable {
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

// failureOf tells people how a host ended.
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

// lastWords are what a host printed last, but for its crash, whose stack has a place of its
// own.
func (e Exit) lastWords() string {
	announcement, _, _ := strings.Cut(e.Crash, "\n")
	if announcement == "" {
		return e.Output
	}
	before := strings.LastIndex("\n"+e.Output, "\n"+announcement)
	return strings.TrimSpace(e.Output[:max(0, before)]) // a long stack has pushed all else out
}

// announcement is the first line of a crash.
func (e Exit) announcement() string {
	line, _, _ := strings.Cut(e.Crash, "\n")
	const long = 1 << 10
	return line[:min(len(line), long)]
}
