package resourcemanager

import (
	"cmp"
	"maps"
	"slices"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/slotmanager"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// workerIDs lists the workers in the order of their ids, which does not depend on the order of the
// map.
func (c *core) workerIDs() []ids.ResourceID { return slices.Sorted(maps.Keys(c.workers)) }

// status describes all workers.
func (c *core) status() Status {
	s := c.summary()
	s.Begin = c.begin.clone()
	for _, id := range c.workerIDs() {
		if w := c.workers[id]; w.registered() {
			s.TaskExecutors = append(s.TaskExecutors, detailsOf(w))
		}
	}
	s.Blocked = c.blocked.Nodes()
	s.Used, s.UsedBy = c.usage, c.usages()
	return s
}

// supply is what jobs have and wait for. There may be ten thousand workers, and many users who look at what their jobs wait for: it
// counts the workers, and describes none of them.
func (c *core) supply() msg.SlotSupply {
	s := c.summary()
	supply := msg.SlotSupply{
		PerWorker: s.Worker.Slots, WorkerMemoryMB: s.Worker.MemoryMB,
		Starting: s.Starting, Requested: s.Requested, RequestedSince: s.RequestedSince,
		Refused: s.Refused, Jobs: s.Jobs, Kinds: s.Kinds, Earlier: s.Earlier,
		Spares: s.Kept.Spares, Floor: s.Kept.Floor, FloorBy: s.Floor,
	}
	for _, w := range c.workers {
		if w.registered() {
			total, free := w.kind.slots.Usage(w.id)
			supply.Total += total
			supply.Free += free
		}
	}
	return supply
}

// summary is the Status without what grows with the number of workers.
func (c *core) summary() Status {
	s := Status{Worker: c.config.Worker, RequestedSince: c.asked, Kept: c.kinds[0].slots.Kept(), Previous: c.recovery.missing}
	s.StartsFailed, s.StartsFailedPerSecond = c.startsFailed.counts, c.startsFailed.rate.PerSecond(c.now)
	if least := c.config.Floor.Fewest(c.config.Worker.totals()); least.Workers > 0 {
		s.Floor = least.String()
	}
	if c.recovering() {
		s.Earlier = c.recovery.missing
	}
	for _, k := range c.kinds {
		s.Requested += k.total - k.starts
		s.Refused = cmp.Or(s.Refused, k.slots.Refusal())
		at := len(s.Kinds)
		supply := c.supplyOf(k)
		for _, d := range k.slots.Demands() {
			s.demands(d, at)
		}
		s.Kinds = append(s.Kinds, supply)
	}
	for i := range s.Jobs {
		job := &s.Jobs[i]
		job.Turn, job.Blocked = c.jobs[job.Job].waitsTurn, job.Waits() && c.blocked.Exhausted(job.Job, c.nodes)
	}
	for _, w := range c.workers {
		if w.state == starting {
			s.Starting++
		}
	}
	return s
}

// supplyOf describes what is known of workers of one kind that do not come.
func (c *core) supplyOf(k *kind) msg.WorkerSupply {
	supply := msg.WorkerSupply{
		Size: msg.ContainerSize{MemoryMB: k.spec.MemoryMB, VCores: k.spec.VCores}, Slots: k.spec.Slots,
		Requested: k.total - k.starts, Since: k.asked, Starting: k.slots.Expected(), Refused: k.slots.Refusal(), Limit: k.slots.Full(),
	}
	if !k.spec.Profile.IsDefault() {
		supply.Profile = k.spec.Profile.String()
	}
	if supply.Requested > 0 {
		supply.Room = k.room
	}
	if k.failures.inRow(c.now) {
		supply.Failures = msg.StartFailures{Since: k.failures.since, Cause: k.failures.cause}
		if until := c.startsPause(k); c.now.Before(until) {
			supply.Failures.Until = until
		}
	}
	return supply
}

// registered tells whether a worker has registered at this ResourceManager, and was not given up since.
func (w *worker) registered() bool { return w.state == connected || w.state == lost }

// detailsOf describes a registered worker, without its jobs.
func detailsOf(w *worker) msg.TaskExecutorDetails {
	total, free := w.kind.slots.Usage(w.id)
	return msg.TaskExecutorDetails{
		Resource: w.id, Host: w.host, SlotsTotal: total, SlotsFree: free,
		Memory: w.memory, VCores: w.vcores, External: w.kind.spec.External, Hardware: w.hardware, LastHeartbeat: w.lastSeen, Metrics: w.metrics,
	}
}

// details describes one registered worker; no Resource: there is none of this id.
func (c *core) details(id ids.ResourceID) msg.TaskExecutorDetails {
	w := c.workers[id]
	if w == nil || !w.registered() {
		return msg.TaskExecutorDetails{}
	}
	d := detailsOf(w)
	d.Jobs = w.kind.slots.Occupants(id)
	return d
}

// demands adds the slots of one kind that a job needs.
func (s *Status) demands(d slotmanager.Demand, kind int) {
	at := slices.IndexFunc(s.Jobs, func(other msg.SlotDemand) bool { return other.Job == d.Job })
	if at < 0 {
		at = len(s.Jobs)
		s.Jobs = append(s.Jobs, msg.SlotDemand{Job: d.Job})
	}
	sum := &s.Jobs[at]
	sum.Needed += d.Declared
	sum.Held += d.Held
	sum.Since = actor.Earliest(sum.Since, d.Since)
	if d.Held < d.Declared {
		sum.Lacks = append(sum.Lacks, kind)
	}
}
