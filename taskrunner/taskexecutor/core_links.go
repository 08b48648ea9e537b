package taskexecutor

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// admissionTimeout is how long a role may take to answer a registration.
const admissionTimeout = 10 * time.Second

// link is the TaskExecutor's connection to one role. It outlives its streams.
type link struct {
	job       ids.JobID // "" for the ResourceManager
	state     linkState
	epoch     ids.Epoch // of the master that has admitted this worker
	id        linkID    // of the current or last attempt
	failures  int       // in a row, since the role last admitted this worker
	downSince time.Time
	watch     watch // while admitted
}

type linkState int

const (
	linkDown        linkState = iota // no stream, or waiting to open the next one
	linkOpening                      // openLink is under way
	linkRegistering                  // open; the registration is not answered yet
	linkAdmitted
)

func (c *core) open(l *link) {
	if l.downSince.IsZero() {
		l.downSince = c.now
	}
	c.lastLink++
	l.id, l.state = c.lastLink, linkOpening
	c.links[l.id] = l
	c.emit(openLink{Link: l.id, Job: l.job, Address: c.leader.address})
}

func (c *core) linkOpened(id linkID) {
	l := c.links[id]
	if l == nil {
		c.emit(closeLink{id, "not needed any more"})
		return
	}
	l.state = linkRegistering
	c.allow(timer{Kind: timerAdmission, Link: id}, admissionTimeout)
	if l.job != "" {
		c.emit(sendRole{id, msg.RegisterAtJobMaster{
			Resource: c.config.Resource, Host: c.config.Node, Profile: c.config.Profile, PartitionAddress: c.config.PartitionAddress,
		}})
		return
	}
	c.untold = false
	c.emit(sendRole{id, msg.RegisterTaskExecutor{
		ProtocolVersion: jobgraph.ProtocolVersion,
		Resource:        c.config.Resource, Host: c.config.Node, PID: c.config.PID,
		Slots: c.slots.report(), Profile: c.config.Profile, Memory: c.config.Memory, VCores: c.config.VCores, Hardware: c.config.Hardware,
		Jobs: c.servedJobs(),
	}})
}

// admit handles the answer of a role to the registration. share is the amount of work that both
// sides share, in slots or tasks.
func (c *core) admit(l *link, token string, share int, interval, timeout time.Duration) {
	l.state, l.failures, l.watch = linkAdmitted, 0, newWatch(c.now, interval, timeout)
	l.epoch = ids.EpochOf(token)
	c.emit(setToken{Link: l.id, Token: token, Share: share})
	c.set(timer{Kind: timerHeartbeat, Link: l.id}, l.watch.interval)
}

// linkLost handles that a stream has ended or could not be opened.
func (c *core) linkLost(id linkID) {
	l := c.links[id]
	if l == nil {
		return
	}
	wasAdmitted := l.state == linkAdmitted
	delete(c.links, id)
	l.state = linkDown
	l.failures++
	if wasAdmitted {
		l.downSince = c.now
	}
	if j := c.jobs[l.job]; j != nil && wasAdmitted {
		c.jobMasterLost(j)
	}
	if l.job != "" && c.rm.state != linkAdmitted {
		return // the ResourceManager comes first: the master may be gone
	}
	c.set(timer{Kind: timerReconnect, Link: id, Job: l.job}, c.pause(l.failures))
	if l.job != "" {
		return
	}
	if wasAdmitted {
		limit, _ := c.patience()
		c.allow(timer{Kind: timerRegistration}, limit)
	}
	c.seek()
}

// pause is the time before the next attempt after this many failures in a row.
func (c *core) pause(failures int) time.Duration {
	pause := c.config.RegistrationInitial
	for i := 1; i < failures && pause < c.config.RegistrationMax; i++ {
		pause *= 2
	}
	return min(pause, c.config.RegistrationMax)
}

func (c *core) reconnect(t timer) {
	l := &c.rm
	if t.Job != "" {
		j := c.jobs[t.Job]
		if j == nil || !c.needsMaster(j) || c.rm.state != linkAdmitted {
			return
		}
		l = &j.link
	}
	if l.state == linkDown && l.id == t.Link && c.ending == nil {
		c.open(l)
	}
}

// needsMaster tells whether a job has something here for its JobMaster.
func (c *core) needsMaster(j *job) bool { return len(c.slots.held(j.id)) > 0 || j.partitions > 0 }

// drop closes a stream and treats it as lost.
func (c *core) drop(l *link, cause string) {
	c.emit(closeLink{l.id, cause})
	c.linkLost(l.id)
}

// leave closes a stream for good.
func (c *core) leave(l *link, cause string) {
	if _, open := c.links[l.id]; open {
		c.emit(closeLink{l.id, cause})
		delete(c.links, l.id)
	}
	l.state = linkDown
}

// beat sends a heartbeat to a role, and drops the link if the role is silent.
func (c *core) beat(id linkID) {
	l := c.links[id]
	if l == nil || l.state != linkAdmitted {
		return
	}
	if lost := l.watch.look(c.now); lost != "" {
		c.drop(l, lost)
		return
	}
	if l.job == "" {
		report := c.slotReport()
		report.Metrics = c.measures()
		c.emit(sendRole{id, report})
	} else {
		c.emit(sendRole{id, msg.Heartbeat{}})
	}
	c.set(timer{Kind: timerHeartbeat, Link: id}, l.watch.interval)
}

// measures are the last metrics, with the partitions that are served now, and with the hosts of jobs that have slots, also slots that
// are being released: their memory is in use until the host has ended. The last metrics may know a host that has ended since, and
// another job may have its slot. So there are no more hosts than slots, as the ResourceManager expects.
func (c *core) measures() *msg.WorkerMetrics {
	if c.metrics == nil {
		return nil
	}
	m := *c.metrics
	m.Partitions = c.served()
	m.Hosts = slices.DeleteFunc(slices.Clone(m.Hosts), func(h msg.HostMetrics) bool { return len(c.slots.jobs[h.Job]) == 0 })
	return &m
}

func (c *core) roleSaid(e roleSaid) {
	l := c.links[e.Link]
	if l == nil {
		return // this worker has closed the link meanwhile
	}
	l.watch.heard(c.now)
	if l.job == "" {
		c.resourceManagerSaid(l, e.Message)
	} else if j := c.jobs[l.job]; j != nil {
		c.jobMasterSaid(j, e.Message)
	}
}

func (c *core) resourceManagerSaid(l *link, m msg.Message) {
	switch m := m.(type) {
	case msg.TaskExecutorRegistered:
		c.registered(l, m)
		return
	case msg.RegistrationRejected:
		c.rejected(l, m)
		return
	default:
	}
	if l.state != linkAdmitted { // it may come from an earlier leader
		return
	}
	switch m := m.(type) {
	case msg.ReleaseTaskExecutor:
		c.end(released, m.Cause)
	case msg.RequestSlots:
		c.slotsRequested(m)
	case msg.UpdateTokens:
		c.updateTokens(m)
	case msg.Inquire:
		c.inquire(l, m)
	case msg.Heartbeat:
		c.leader.workers = max(m.Workers, 1)
	default: // a ResourceManager sends nothing else
	}
}

// registered handles the admission by a ResourceManager. Links to JobMasters follow, because they are in the same
// process.
func (c *core) registered(l *link, m msg.TaskExecutorRegistered) {
	if l.state != linkRegistering || c.refuses(l, m.ResourceManager.Epoch(), "ResourceManager") {
		return
	}
	c.admit(l, string(m.ResourceManager), c.config.Slots, m.HeartbeatInterval, m.HeartbeatTimeout)
	c.leader.workers = max(m.Workers, 1)
	if c.untold {
		c.emit(sendRole{l.id, c.slotReport()})
	}
	c.learn(l.epoch)
	for _, j := range c.sortedJobs() {
		if j.link.state != linkAdmitted {
			j.unready = time.Time{}
			c.keep(c.slots.of(j.id, slotAllocated))
			c.keepPartitions(j)
		}
		if j.link.state == linkDown && c.needsMaster(j) && c.ending == nil {
			j.link.failures = min(j.link.failures, 1) // the pauses begin anew
			c.open(&j.link)
		}
	}
}

func (c *core) rejected(l *link, m msg.RegistrationRejected) {
	if !c.refuses(l, m.ResourceManager.Epoch(), "ResourceManager") {
		c.end(rejected, m.Reason)
	}
}

// tellResourceManager sends a message if the ResourceManager has admitted this worker. Otherwise
// the next registration has the same information. If a registration is under way, a report follows
// the admission.
func (c *core) tellResourceManager(m msg.Message) {
	switch c.rm.state {
	case linkAdmitted:
		c.emit(sendRole{c.rm.id, m})
	case linkRegistering:
		c.untold = true
	case linkDown, linkOpening:
	}
}
