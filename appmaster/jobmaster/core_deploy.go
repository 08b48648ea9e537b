package jobmaster

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/executiongraph"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/slotpool"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/placement"
)

// deploy sends the tasks of every waiting region for which there are enough slots with a ready
// host. Each host gets one message, even for several regions.
func (c *core) deploy() {
	if !c.active() || !c.supplied {
		return
	}
	c.supplied = false
	c.leaveSlow()
	d := deployment{core: c, lineage: c.graph.Lineage(), read: make(map[int]bool), placed: make(map[ids.ExecutionAttemptID]bool)}
	for _, r := range c.pool.Assign() {
		if r >= len(c.regions) {
			c.deployFurther(&d, r)
			continue
		}
		c.regions[r].phase, c.ran, c.told = deployed, true, told{}
		c.reached(msg.StepDeployed)
		for e := range c.tasks(r) {
			slot, _ := c.pool.At(c.layout.sharedSlot(e))
			c.graph.Deploy(e, c.placeOf(slot), c.now)
			d.add(e, slot)
		}
	}
	d.send()
}

func (c *core) placeOf(s slotpool.Slot) executiongraph.Place {
	w := c.byResource[s.Resource]
	return executiongraph.Place{Resource: w.resource, Node: w.node, Host: w.host}
}

// deployment gathers the messages of one deploy.
type deployment struct {
	core      *core
	tasks     byWorker[msg.TaskDeployment]
	producers placement.Table
	lineage   *executiongraph.Lineage
	read      map[int]bool                    // vertices of tasks that were added
	placed    map[ids.ExecutionAttemptID]bool // tasks whose partitions have their place in producers
}

// add adds a task that is deployed in a slot. It reads from tasks of its own region, which are in the same deployment, and partitions of
// other regions.
func (d *deployment) add(e *executiongraph.Execution, slot slotpool.Slot) {
	c := d.core
	w := c.byResource[slot.Resource]
	task := msg.TaskDeployment{
		Execution:  e.ID,
		Allocation: slot.Allocation,
		Winners:    c.winners(e),
	}
	if !c.isRecorded(e.Region) {
		task.Inputs = d.lineage.Inputs(e)
		d.placePartitions(e)
	}
	d.tasks.add(w, task)
	if c.layout.isProducer[e.ID.Vertex] {
		d.producers.Add(e.ID, placement.Host{ID: w.host, Address: w.dataAddress})
	}
}

// placePartitions says where the partitions are that a task reads.
func (d *deployment) placePartitions(e *executiongraph.Execution) {
	first := !d.read[e.ID.Vertex]
	d.read[e.ID.Vertex] = true
	for source := range d.core.graph.Sources(e, first) {
		if w := d.core.byResource[source.Resource]; w != nil && !d.placed[source.ID] {
			d.placed[source.ID] = true
			d.producers.AddPartitions(source.ID, placement.Host{ID: ids.PartitionHost(w.resource), Address: w.partitions})
		}
	}
}

// send sends the messages. All of them share the bytes that say where the producers run.
func (d *deployment) send() {
	producers := d.producers.Encode()
	for _, w := range d.tasks.workers {
		m := msg.DeployTasks{Host: w.host, Tasks: d.tasks.parts[w], Blocking: d.core.waves != ""}
		if slices.ContainsFunc(m.Tasks, d.reads) {
			m.Producers = producers
		}
		d.core.send(w, m)
	}
}

// reads tells whether a task reads inputs.
func (d *deployment) reads(t msg.TaskDeployment) bool {
	return t.Winners == nil && len(d.core.layout.producers[t.Execution.Vertex]) > 0
}
