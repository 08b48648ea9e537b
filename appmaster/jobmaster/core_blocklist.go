package jobmaster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/failover"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// hostUnavailable takes in that a worker can have no host of the job. The node may
// be sick, or the job: so the job goes on without the node, unless another one says
// the same and none shows the contrary.
func (c *Core) hostUnavailable(w *worker, f msg.Failure) {
	if !c.active() {
		return
	}
	w.proven = false
	entry := c.unavailable(w, f).Entry()
	if other, known := c.blocklist.Other(w.node); known && !slices.ContainsFunc(c.workers, (*worker).ready) {
		entry.Failure = *msg.NewFailure(fmt.Sprintf("%s\nso it is on node %s: %s", f.Message, other.Node, other.Cause), "")
		c.failWith(entry)
		return
	}
	if !c.blocklist.Blocks(w.node) {
		entry.Failure = *msg.NewFailure(fmt.Sprintf("node %s is set aside for %s: %s", w.node, failover.BlockTime, f.Message), "")
		c.remember(entry)
	}
	c.emit(NodeBlocked{c.blocklist.Block(c.now, w.node, brief(f).Message)})
	c.sick = c.unavailable(w, f)
	c.tellBlocked() // first, or the ResourceManager would grant the freed slots again
	for _, other := range c.workers {
		if c.setAside(other) {
			c.freeSlots(c.pool.RemoveWorker(other.resource, c.now), fmt.Sprintf("node %s is set aside", other.node))
		}
	}
}

// unavailable is the cause that a worker can have no host of the job.
func (c *Core) unavailable(w *worker, f msg.Failure) failover.Cause {
	return failover.Cause{
		Kind: failover.HostUnavailable, Time: c.now, Failure: *msg.NewFailure(f.Message, ""),
		Location: w.node, Resource: w.resource,
	}
}

// setAside tells whether no slot of a worker is taken because of its node. One that
// has had a host is used on: its node works as far as this job needs it.
func (c *Core) setAside(w *worker) bool { return !w.proven && c.blocklist.Blocks(w.node) }

// tellBlocked tells the ResourceManager from which nodes the job wants no slots.
func (c *Core) tellBlocked() {
	if c.declared >= 0 {
		c.emit(TellResourceManager{msg.BlockNodes{
			Job: c.config.Job, JobMaster: c.config.JobMaster, Nodes: c.blocklist.Nodes(),
		}})
	}
}

// allNodesBlocked takes in that there is no node but those that are set aside. Then
// the restart strategy decides whether, and after which delay, the job tries them
// again. While some of its regions can run it goes on without.
func (c *Core) allNodesBlocked() {
	if !c.active() || c.blocklist.Empty() || c.blocklist.Lifted() {
		return // it crossed the end of the blocks
	}
	if _, starved := c.pool.StarvedSince(); !starved {
		c.short = true
		return
	}
	decision := c.restarts.Decide(c.now, c.sick, failover.WholeJob)
	c.emit(BlocksLifted{Root: c.sick.Entry(), Restart: decision.Restart, Delay: decision.Delay})
	if !decision.Restart {
		c.failAfter(c.sick, decision)
		return
	}
	c.blocklist.Lift(c.now.Add(decision.Delay))
	if c.blocklist.Expire(c.now) {
		c.tellBlocked()
	}
}

// blockedNodes names the nodes that are set aside, for people, or is "".
func (c *Core) blockedNodes() string {
	var text strings.Builder
	for _, n := range c.blocklist.Nodes() {
		fmt.Fprintf(&text, "; node %s is set aside until %s: %s", n.Node, n.Until.UTC().Format(time.RFC3339), n.Cause)
	}
	return text.String()
}
