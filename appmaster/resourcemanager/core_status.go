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

func (c *core) status() Status {
	s := Status{Worker: c.config.Worker, RequestedSince: c.asked, Kept: c.kinds[0].slots.Kept(), Previous: c.recovery.missing}
	if least := c.config.Floor.Fewest(c.config.Worker.totals()); least.Workers > 0 {
		s.Floor = least.String()
	}
	for _, k := range c.kinds {
		s.Requested += k.total - k.starts
		s.Refused = cmp.Or(s.Refused, k.slots.Refusal())
		for _, d := range k.slots.Demands() {
			s.demands(d)
		}
	}
	for _, id := range c.workerIDs() {
		w := c.workers[id]
		if w.state == starting {
			s.Starting++
		}
		if w.state == starting || w.state == previous {
			continue
		}
		total, free := w.kind.slots.Usage(id)
		s.TaskExecutors = append(s.TaskExecutors, msg.TaskExecutorDetails{
			Resource: id, Host: w.host, SlotsTotal: total, SlotsFree: free,
			Memory: w.memory, VCores: w.vcores, External: w.kind.spec.External, Hardware: w.hardware, LastHeartbeat: w.lastSeen,
		})
	}
	s.Blocked = c.blocked.Nodes()
	return s
}

// demands adds the slots of one kind that a job needs.
func (s *Status) demands(d slotmanager.Demand) {
	at := slices.IndexFunc(s.Jobs, func(other msg.SlotDemand) bool { return other.Job == d.Job })
	if at < 0 {
		s.Jobs = append(s.Jobs, msg.SlotDemand{Job: d.Job, Needed: d.Declared, Held: d.Held, Since: d.Since})
		return
	}
	sum := &s.Jobs[at]
	sum.Needed += d.Declared
	sum.Held += d.Held
	sum.Since = actor.Earliest(sum.Since, d.Since)
}
