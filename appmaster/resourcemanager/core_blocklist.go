package resourcemanager

import (
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/slotmanager"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// blocks is the core's blocklist, for the SlotManager.
type blocks struct{ *core }

// Blocks tells whether a job has blocked the node of a worker.
func (b blocks) Blocks(job ids.JobID, worker ids.ResourceID) bool {
	w := b.workers[worker]
	return w != nil && b.blocked.Blocks(job, w.host)
}

// Empty tells whether no job has blocked a node.
func (b blocks) Empty() bool { return b.blocked.Empty() }

// Exhausted tells whether a job has blocked all nodes.
func (b blocks) Exhausted(job ids.JobID) bool { return b.blocked.Exhausted(job, b.nodes) }

// block handles the list of nodes from which a job now wants no slots.
func (c *core) block(m msg.BlockNodes) {
	job := c.jobs[m.Job]
	if job == nil || job.id != m.JobMaster {
		c.emit(dropped{Message: m, From: string(m.JobMaster), Why: "it is not the job's JobMaster"})
		return
	}
	job.toldBlocked = false
	c.forgive(m.Job)
	if len(m.Nodes) == 0 {
		for _, k := range c.kinds {
			k.failures.hope() // workers may start on nodes that were avoided before
		}
	}
	c.blocked.Set(m.Job, m.Nodes)
	for _, k := range c.kinds {
		k.slots.BlocklistChanged()
		k.slots.Retry(m.Job)
	}
}

// tellBlocked tells the JobMasters of jobs that lack slots and have blocked every node that could
// give some. The JobMaster decides what follows.
func (c *core) tellBlocked(short []slotmanager.Shortage) {
	for _, s := range short {
		job := c.jobs[s.Job]
		exhausted := c.blocked.Exhausted(s.Job, c.nodes)
		if exhausted && !job.toldBlocked {
			c.emit(sendJobMaster{To: job.id, Message: msg.AllNodesBlocked{Job: s.Job}})
		}
		job.toldBlocked = exhausted
	}
}

// useless lists the nodes on which a new worker could serve none of the jobs that need one. A node that only some
// of them have blocked is not avoided: YARN has one blacklist for the application, and the other jobs
// would wait for ever.
func (c *core) useless() []string {
	if c.blocked.Empty() {
		return nil
	}
	var waiting []ids.JobID
	seen := make(map[ids.JobID]bool)
	for _, k := range c.kinds {
		for _, job := range k.plan.For {
			if !seen[job] && !c.blocked.Exhausted(job, c.nodes) {
				waiting = append(waiting, job)
			}
			seen[job] = true
		}
	}
	return c.blocked.Common(waiting)
}
