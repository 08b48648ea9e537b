package jobmaster

import (
	"fmt"
	"slices"

	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/failover"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// hostUnavailable handles the message that a worker cannot run a host of the job, or has no room for its
// partitions beside those of other jobs. The job sets the node aside and continues. If the worker is not
// full, the fault may be in the node or in the job. So the job fails if another node has reported the
// same and no host of the job is ready anywhere.
func (c *core) hostUnavailable(w *worker, m msg.HostLost) {
	if !c.active() {
		return
	}
	w.proven = false
	f, full, block := m.Failure, m.Reason == msg.HostFull, c.blocklist.Block
	if full {
		block = c.blocklist.BlockFull
	}
	entry := c.unavailable(w, f).Entry()
	if other, known := c.blocklist.Other(w.node); known && !full && !slices.ContainsFunc(c.workers, (*worker).ready) {
		entry.Failure = *msg.NewFailure(fmt.Sprintf("%s\nthe job failed on node %s too: %s", f.Message, other.Node, other.Cause), "")
		c.failWith(entry)
		return
	}
	if !c.blocklist.Blocks(w.node) {
		entry.Failure = *msg.NewFailure(fmt.Sprintf("node %s is set aside for %s: %s", w.node, failover.BlockTime, f.Message), "")
		c.remember(entry)
	}
	c.emit(nodeBlocked{block(c.now.Add(failover.BlockTime), w.node, clip(f.Message, maxReason))})
	c.sick = c.unavailable(w, f)
	c.tellBlocked() // before freeSlots: otherwise the ResourceManager would grant the freed slots to this job again
	for _, other := range c.workers {
		if c.setAside(other) {
			c.freeSlots(c.pool.RemoveWorker(other.resource, c.now), fmt.Sprintf("node %s is set aside", other.node))
		}
	}
}

// unavailable is the failover.Cause of a worker that cannot run a host of the job.
func (c *core) unavailable(w *worker, f msg.Failure) failover.Cause {
	return failover.Cause{
		Kind: failover.HostUnavailable, Time: c.now, Failure: *msg.NewFailure(f.Message, ""),
		Location: w.node, Resource: w.resource,
	}
}

// setAside tells whether the job takes no slots of a worker because of its node. If a host was
// ready on the worker, the job keeps using it: the node works well enough for this job.
func (c *core) setAside(w *worker) bool { return !w.proven && c.blocklist.Blocks(w.node) }

// blocksNodes tells whether the job wants no slots from some nodes: they are set aside, or tasks there are slow.
func (c *core) blocksNodes() bool { return !c.blocklist.Empty() || !c.speculation.slow.Empty() }

// tellBlocked tells the ResourceManager from which nodes the job wants no slots.
func (c *core) tellBlocked() {
	if c.declared != nil {
		c.emit(tellResourceManager{msg.BlockNodes{
			Job: c.config.Job, JobMaster: c.config.JobMaster, Nodes: append(c.blocklist.Nodes(), c.speculation.slow.Nodes()...),
		}})
	}
}

// noOtherNode handles the case that only nodes which are set aside could serve the job: there is no
// other node, no other node gives slots in time, or YARN gives no more workers. The restart
// strategy then decides whether the job tries these nodes again, and after which delay. While some
// region can run, the job continues without them.
func (c *core) noOtherNode(reason string) {
	if c.giveUpSpeculation() {
		return // the ResourceManager tries with more nodes
	}
	if !c.active() || c.blocklist.Empty() || !c.blocklist.Lifted().IsZero() {
		return // the message crossed the end of the blocks
	}
	if !c.lacksAny() {
		for k := range c.short {
			c.short[k] = true
		}
		return
	}
	decision := c.restarts.Decide(c.now, c.sick, failover.WholeJob)
	c.emit(noOtherNode{Root: c.sick.Entry(), Reason: reason, Restart: decision.Restart, Delay: decision.Delay})
	if !decision.Restart {
		root := c.sick
		root.Failure = *msg.NewFailure(root.Failure.Message+"\n"+reason, "")
		c.failAfter(root, decision)
		return
	}
	c.blocklist.Lift(c.now.Add(decision.Delay))
	if c.blocklist.Expire(c.now) {
		c.tellBlocked()
	}
}
