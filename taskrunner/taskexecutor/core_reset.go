package taskexecutor

import (
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// hostReady handles that a host takes tasks: at first, or after a reset.
func (c *core) hostReady(j *job, m msg.HostReady) {
	h := j.host
	switch {
	case !h.instructed, h.stopping, h.resetting && m.Host != h.as:
		return
	case h.ready.IsZero():
		h.ready, j.early = c.now, 0
		h.watch = newWatch(c.now, h.watch.interval, h.watch.timeout)
		c.set(timer{Kind: timerHostHeartbeat, Host: h.id}, h.watch.interval)
	}
	h.address = m.DataAddress
	if h.resetting {
		h.resetting, h.tasks = false, nil
	}
	if len(c.slots.of(j.id, slotReleasing)) > 0 { // its lost tasks used them
		c.settle(j, "")
	}
	c.tellReady(j)
}

// tellReady tells the JobMaster that a host is ready, once both are there.
func (c *core) tellReady(j *job) {
	h := j.host
	if h == nil || h.ready.IsZero() || h.resetting || h.stopping || h.failure != nil || h.told || j.link.state != linkAdmitted {
		return
	}
	h.told = true
	c.sendJobMaster(j, msg.HostReady{Host: h.as, DataAddress: h.address})
}

// resetHost makes a host end its tasks after the loss of their JobMaster, and keeps the host for this JobMaster or the
// next one. Each reset gives the host another id: a JobMaster that has lost a host does not expect it again. A host of
// which the JobMaster did not know has no tasks, and one that fails ends anyway. See resetLate.
func (c *core) resetHost(j *job) {
	h := j.host
	if h == nil || !h.told {
		return
	}
	h.told = false
	if h.stopping || h.failure != nil {
		return
	}
	c.started++
	h.as, h.resetting = ids.NewHostID(c.config.Resource, c.started), true
	c.emit(sendHost{h.id, msg.ResetHost{Host: h.as}})
	c.allow(timer{Kind: timerHostReset, Host: h.id}, hostStopGrace)
}

// resetLate kills a host with a task that does not end, as a host that was told to stop is killed. The JobMaster of this
// task is lost, and the next one waits for a host. So task.cancellation.timeout does not count here: it is longer, or 0,
// which means for ever. No JobMaster has tasks on this host, so none learns of its end.
func (c *core) resetLate(id ids.HostID) {
	j := c.hosts[id]
	if j == nil || !j.host.resetting || j.host.stopping || j.host.failure != nil {
		return
	}
	j.host.stopping = true
	c.emit(killHost{id})
}

// fits tells whether the host can run the job as its present JobMaster describes it.
func (h *host) fits(m *msg.RegisteredAtJobMaster) bool {
	return !h.instructed || h.settings.Job.Equal(m.Job) && h.settings.Tasks == m.Tasks &&
		h.settings.HeartbeatInterval == m.HeartbeatInterval && h.settings.HeartbeatTimeout == m.HeartbeatTimeout
}

// passUp passes on a message of a host about its tasks, unless they are void.
func (c *core) passUp(j *job, m msg.Message) {
	if j.host.told {
		c.sendJobMaster(j, m)
	}
}
