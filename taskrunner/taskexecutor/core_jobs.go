package taskexecutor

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// slotsRequested takes the requested slots, or refuses them with a reason. A repeated request for
// granted slots is harmless.
func (c *core) slotsRequested(m msg.RequestSlots) {
	var answer msg.SlotRequestsAnswered
	var taken []*slot
	for _, offer := range m.Slots {
		reason := c.refusal(m, offer)
		if reason != "" {
			answer.Refused = append(answer.Refused, msg.SlotRefusal{SlotOffer: offer, Reason: reason})
			continue
		}
		answer.Taken = append(answer.Taken, offer)
		if s := &c.slots.slots[offer.Index]; s.state == slotFree { // otherwise the request is repeated
			c.slots.occupy(slot{index: s.index, state: slotAllocated, allocation: offer.Allocation, job: m.Job, memory: m.Memory})
			c.allow(timer{Kind: timerSlot, Allocation: offer.Allocation}, c.config.SlotTimeout)
			taken = append(taken, s)
		}
	}
	if len(taken) > 0 {
		c.allocated(m, taken)
	}
	c.tellResourceManager(answer)
}

func (c *core) refusal(m msg.RequestSlots, offer msg.SlotOffer) string {
	if c.ending != nil {
		return "worker ends: " + c.ending.Cause
	}
	if epoch := m.JobMaster.Epoch(); epoch < c.leader.epoch {
		return fmt.Sprintf("the JobMaster is of attempt %d, and attempt %d leads", epoch, c.leader.epoch)
	}
	if m.Profile != c.config.Profile {
		return fmt.Sprintf("its slots have %s, and not %s", c.config.Profile, m.Profile)
	}
	if offer.Index < 0 || offer.Index >= len(c.slots.slots) {
		return fmt.Sprintf("slot %d does not exist: the worker has %d slots", offer.Index, len(c.slots.slots))
	}
	if s := c.slots.find(offer.Allocation); s != nil && (s.index != offer.Index || s.job != m.Job) {
		return fmt.Sprintf("allocation %s is slot %d of job %s", offer.Allocation, s.index, s.job)
	}
	if s := &c.slots.slots[offer.Index]; s.state != slotFree && s.allocation != offer.Allocation {
		return fmt.Sprintf("slot %d is held by allocation %s of job %s", offer.Index, s.allocation, s.job)
	}
	return c.refuseProgram(m.Program)
}

// allocated prepares a job for the slots that it got: the stream to its JobMaster, its program and
// its host.
func (c *core) allocated(m msg.RequestSlots, taken []*slot) {
	j := c.jobs[m.Job]
	if j == nil {
		j = &job{id: m.Job, master: m.JobMaster}
		j.link.job = m.Job
		c.jobs[m.Job] = j
	}
	if j.master != m.JobMaster { // another grant of leadership
		j.master = m.JobMaster
		c.leave(&j.link, "the job has another JobMaster")
		c.jobMasterLost(j)
	}
	if j.program == nil {
		j.program = c.needProgram(m.Program)
		if j.link.state == linkAdmitted {
			c.needFiles(j)
		}
	}
	if j.link.state == linkDown {
		j.link.failures = 0
		c.open(&j.link)
	}
	c.offer(j, taken)
	c.setHostMemory(j)
	c.ensureHost(j)
}

func (c *core) sendJobMaster(j *job, m msg.Message) {
	if j.link.state == linkAdmitted {
		c.emit(sendRole{j.link.id, m})
	}
}

func (c *core) jobMasterSaid(j *job, m msg.Message) {
	switch m := m.(type) {
	case msg.RegisteredAtJobMaster:
		c.registeredAtJobMaster(j, m)
	case msg.SlotOffersAnswered:
		c.offersAnswered(j, m)
	case msg.FreeSlots:
		c.freeSlots(j, c.slotsOf(j, m.Allocations), m.Cause)
	case msg.Disconnect:
		c.dismissed(j, m.Cause)
	case msg.ReleasePartitions:
		c.release(j, m.Partitions, "job has neither slots nor partitions on this worker any more")
	case msg.DeployTasks:
		if j.host != nil && j.host.as == m.Host { // this link has already reported the end of any other host
			c.deploy(j, m)
		}
	case msg.SplitAssigned:
		c.splitAssigned(j, m)
	case msg.CancelTasks, msg.CollectAcknowledged, msg.CommitGranted:
		c.sendHost(j, m)
	default: // Heartbeat; a JobMaster sends nothing else
	}
}

func (c *core) registeredAtJobMaster(j *job, m msg.RegisteredAtJobMaster) {
	if j.link.state != linkRegistering || c.refuses(&j.link, m.JobMaster.Epoch(), "JobMaster") {
		return
	}
	if m.JobMaster != j.master && m.JobMaster.Epoch() <= j.master.Epoch() {
		c.drop(&j.link, "the slots were granted to another JobMaster")
		return
	}
	j.master = m.JobMaster // or its successor in a later ApplicationMaster
	c.learn(j.master.Epoch())
	c.admit(&j.link, string(m.JobMaster), m.Tasks, m.HeartbeatInterval, m.HeartbeatTimeout)
	j.settings = &m
	if j.host != nil && !j.host.fits(&m) {
		c.stopHost(j, "its JobMaster has other settings")
	}
	if u := j.unavailable; u != nil && u.Reason == msg.HostFull && c.partitions < maxPartitions {
		j.unavailable = nil // partitions have gone since
	}
	if j.unavailable == nil && j.program != nil {
		c.needFiles(j)
	}
	c.reportHeld(j)
	if held := c.slots.held(j.id); len(held) > 0 {
		c.offer(j, held)
	}
	if j.unavailable != nil {
		c.sendJobMaster(j, *j.unavailable)
	}
	c.ensureHost(j)
	c.instructHost(j)
	c.tellReady(j)
}

// offer offers slots to the JobMaster, once it has admitted this worker. A worker that ends offers none: the
// JobMaster would count on them until the link closes.
func (c *core) offer(j *job, slots []*slot) {
	if j.link.state != linkAdmitted || c.ending != nil {
		return
	}
	for _, s := range slots {
		s.offered = c.now
	}
	c.sendJobMaster(j, msg.OfferSlots{Offers: offersOf(slots)})
}

// keep begins the time in which a JobMaster may accept these slots.
func (c *core) keep(slots []*slot) {
	for _, s := range slots {
		c.allow(timer{Kind: timerSlot, Allocation: s.allocation}, c.config.SlotTimeout)
	}
}

// mayWait notes whether the JobMaster of a lost link is being made.
func (c *core) mayWait(e linkLost) {
	l := c.links[e.Link]
	if l == nil || c.jobs[l.job] == nil {
		return
	}
	switch j := c.jobs[l.job]; {
	case !e.NotReady:
		j.unready = time.Time{}
	case j.unready.IsZero():
		j.unready = c.now
	}
}

// slotLate frees a slot that the JobMaster has not accepted in time. If the JobMaster has sent
// nothing since the offer, it cannot have answered: it is stopped or busy. Then heartbeats decide
// how long it may be silent. While there is no ResourceManager either, the slot waits for the next master. While the
// JobMaster is being made, the slot waits for as long as the worker would for its first master: HDFS may be away.
func (c *core) slotLate(t timer) {
	s := c.slots.find(t.Allocation)
	if s == nil || s.state != slotAllocated {
		return
	}
	j := c.jobs[s.job]
	if c.awaitsMaster(j) || j.link.state == linkAdmitted && !j.link.watch.last.After(s.offered) {
		c.allow(t, c.config.SlotTimeout)
		return
	}
	c.freeSlots(j, []*slot{s}, "not accepted within "+c.config.SlotTimeout.String()+" (taskmanager.slot.timeout)")
}

// awaitsMaster tells whether a job waits for its JobMaster for longer than taskmanager.slot.timeout: see slotLate and registered.
func (c *core) awaitsMaster(j *job) bool {
	made := !j.unready.IsZero() && c.now.Sub(j.unready) < c.config.RegistrationTimeout
	return j.link.state != linkAdmitted && (c.rm.state != linkAdmitted || made)
}

// offersAnswered handles the answer to offered slots. If the JobMaster accepts a slot that is free
// by now, because its answer came late, the stream is closed and starts again. Otherwise the
// JobMaster would deploy tasks into a slot that another job may get.
func (c *core) offersAnswered(j *job, m msg.SlotOffersAnswered) {
	accepted := c.slotsOf(j, m.Accepted)
	for _, s := range accepted {
		s.state = slotActive
	}
	if len(accepted) < len(m.Accepted) {
		c.drop(&j.link, "JobMaster accepts a slot that was given back")
		return
	}
	c.freeSlots(j, c.slotsOf(j, m.Rejected), "rejected by the JobMaster")
}

// slotsOf gives the slots that a job holds under these allocations.
func (c *core) slotsOf(j *job, allocations []ids.AllocationID) []*slot {
	var found []*slot
	for _, a := range allocations {
		if s := c.slots.find(a); s != nil && s.job == j.id && s.state != slotReleasing {
			found = append(found, s)
		}
	}
	return found
}

// jobMasterLost ends the job's tasks after the loss of its JobMaster. For a while the slots are
// offered again to this JobMaster or its successor.
func (c *core) jobMasterLost(j *job) {
	active := c.slots.of(j.id, slotActive)
	for _, s := range active {
		s.state = slotAllocated
	}
	c.keep(active)
	c.keepPartitions(j)
	c.resetHost(j)
}

// dismissed handles that the JobMaster does not need this worker: mostly because the job has ended.
func (c *core) dismissed(j *job, cause string) {
	if j.host != nil {
		j.host.tasks = nil // their partitions are not needed either
	}
	c.freeSlots(j, c.slots.held(j.id), cause)
	c.dropPartitions(j, cause)
}

// freeSlots gives slots of a job back. With the last slot the job's host stops. The slots stay in use until the host
// has ended, or has ended the tasks of a lost JobMaster. If this worker cannot run a host of the job, all its slots go
// back. Otherwise the JobMaster might accept a slot whose offer crossed this message, and wait for a host there.
func (c *core) freeSlots(j *job, freed []*slot, cause string) {
	if len(freed) == 0 {
		return
	}
	if j.unavailable != nil {
		freed = c.slots.held(j.id)
	}
	for _, s := range freed {
		s.state = slotReleasing
	}
	if j.host != nil && (j.host.stopping || len(c.slots.held(j.id)) == 0) {
		c.stopHost(j, cause)
		return
	}
	if j.host != nil && j.host.resetting {
		return
	}
	c.settle(j, cause)
}

// settle frees the slots that were given back, because no host needs them any more. A job without slots rests while it has
// partitions here, and is then removed.
func (c *core) settle(j *job, cause string) {
	if freed := c.slots.of(j.id, slotReleasing); len(freed) > 0 {
		c.tellResourceManager(msg.SlotsFreed{Slots: offersOf(freed)})
		c.slots.vacate(j.id, freed)
	}
	if len(c.slots.held(j.id)) > 0 {
		c.setHostMemory(j)
		return
	}
	if j.partitions == 0 {
		c.forget(j, func(*finished) bool { return true })
		c.leave(&j.link, cause)
		delete(c.jobs, j.id)
	}
	c.leaveArtifacts(j)
	j.restart, j.early, j.brief, j.unavailable = "", 0, 0, nil
}
