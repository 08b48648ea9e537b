package resourcemanager

import (
	"cmp"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/slotmanager"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// reconcile grants free slots to jobs and orders missing workers.
func (c *core) reconcile() {
	changed := c.reconcileKinds(false)
	for changed && len(c.kinds) > 1 { // what one kind has given or released may concern the others
		changed = c.reconcileKinds(true)
	}
	for _, k := range c.kinds {
		if !c.recovering() { // workers that are to return may have the slots
			c.tellShort(k)
		}
	}
	for _, k := range c.kinds {
		c.tellBlocked(k.plan.Short)
		k.missing = c.permitted(k)
	}
	c.avoid = c.useless()
	c.order()
}

// reconcileKinds asks the SlotManagers that have something to do, and does it. It tells whether slots were granted or
// workers released.
func (c *core) reconcileKinds(changed bool) (did bool) {
	a := c.allot(changed)
	var limits []int
	if a != nil {
		limits = a.limits()
	}
	for i, k := range c.kinds {
		if a != nil {
			k.slots.Limit(a.room(i, limits))
		}
		if k.due(c.now) {
			did = c.reconcileKind(k) || did
		}
		if a != nil {
			limits[i] = k.slots.Stock(c.now).Workers + k.plan.Workers
		}
	}
	return did
}

// reconcileKind asks the SlotManager of one kind what to do, and does it.
func (c *core) reconcileKind(k *kind) (did bool) {
	k.plan, k.noted = k.slots.Reconcile(c.now), false
	for _, grants := range together(k.plan.Grants) {
		c.request(grants)
	}
	for _, r := range k.plan.Release {
		c.terminate(c.workers[r.Worker], r.Cause)
	}
	if k.plan.Strayed {
		k.strayed = c.now
	}
	return len(k.plan.Grants) > 0 || len(k.plan.Release) > 0
}

// tellShort tells JobMasters that their jobs cannot get enough slots of a kind, if that is known, once as long as this
// holds.
func (c *core) tellShort(k *kind) {
	var told map[ids.JobID]bool
	for _, s := range k.plan.Short {
		job := c.jobs[s.Job]
		reason := cmp.Or(s.Reason, job.tooLarge, c.hopeless(k))
		if reason == "" {
			continue
		}
		if told == nil {
			told = make(map[ids.JobID]bool)
		}
		told[s.Job] = true
		if !k.told[s.Job] {
			c.emit(sendJobMaster{To: job.id, Message: msg.NotEnoughResources{
				Job: s.Job, Profile: k.spec.Profile, Reason: reason, NodesBlocked: c.blocked.Any(s.Job), Answers: job.number,
			}})
		}
	}
	k.told = told
}

// forgive has a JobMaster told again of what its job cannot get.
func (c *core) forgive(job ids.JobID) {
	for _, k := range c.kinds {
		delete(k.told, job)
	}
}

// together groups the grants of each job on each worker, so that the worker starts one task host with
// the memory of all slots.
func together(grants []slotmanager.Grant) (groups [][]slotmanager.Grant) {
	type place struct {
		worker ids.ResourceID
		job    ids.JobID
	}
	at := make(map[place]int)
	for _, g := range grants {
		key := place{g.Slot.Resource, g.Job}
		i, known := at[key]
		if !known {
			i, at[key] = len(groups), len(groups)
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], g)
	}
	return groups
}

// request asks a worker for slots that were granted to one job.
func (c *core) request(grants []slotmanager.Grant) {
	job, to := c.jobs[grants[0].Job], c.workers[grants[0].Slot.Resource]
	m := msg.RequestSlots{
		Job:       grants[0].Job,
		JobMaster: job.id,
		Program:   job.program,
		Profile:   to.kind.spec.Profile,
		Memory:    to.kind.slot,
	}
	for _, g := range grants {
		m.Slots = append(m.Slots, msg.SlotOffer{Index: g.Slot.Index, Allocation: g.Allocation})
	}
	c.emit(sendTaskExecutor{To: to.connection, Message: m})
}

// order sends new orders to the provider if they have changed.
func (c *core) order() {
	changed, outstanding := false, 0
	for _, k := range c.kinds {
		total := k.starts + k.missing
		changed = changed || total != k.total
		outstanding += k.missing
		k.total, k.ordered = total, k.ordered || total > 0
		switch {
		case k.missing == 0:
			k.asked = time.Time{}
		case k.asked.IsZero():
			k.asked = c.now
		}
	}
	switch {
	case outstanding == 0:
		c.asked = time.Time{}
	case c.asked.IsZero():
		c.asked = c.now
		if c.begin.Asked.IsZero() {
			c.begin.Asked = c.now
		}
	}
	if !changed && len(c.release) == 0 && len(c.check) == 0 && slices.Equal(c.avoid, c.avoided) {
		return
	}
	c.avoided = c.avoid
	var orders []WorkerOrder
	for _, k := range c.kinds {
		if k.ordered || k.spec.Profile.IsDefault() {
			orders = append(orders, WorkerOrder{Spec: k.spec, Total: k.total})
		}
	}
	c.emit(orderWorkers{Orders: Orders{Workers: orders, Release: c.release, Check: c.check, Avoid: c.avoid}})
}
