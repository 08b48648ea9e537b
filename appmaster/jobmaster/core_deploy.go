package jobmaster

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/executiongraph"
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
	d := deployment{core: c}
	for _, r := range c.pool.Assign() {
		c.regions[r].phase = deployed
		c.reached(msg.StepDeployed)
		for e := range c.tasks(r) {
			d.add(e)
		}
	}
	d.send()
}

// managed is the memory for the operators of all tasks in one slot of a kind, in bytes.
func (c *core) managed(kind int) int64 {
	if p := c.layout.profiles[kind]; !p.IsDefault() {
		return p.Managed
	}
	return c.config.SlotMemory
}

// deployment gathers the messages of one deploy.
type deployment struct {
	core      *core
	tasks     byWorker[msg.TaskDeployment]
	producers placement.Table
}

// add adds a task. A task reads only from tasks of its own region, which are in the same deployment.
func (d *deployment) add(e *executiongraph.Execution) {
	c := d.core
	shared := c.layout.sharedSlot(e)
	slot, _ := c.pool.At(shared)
	w := c.byResource[slot.Resource]
	c.graph.Deploy(e, executiongraph.Place{Resource: w.resource, Node: w.node, Host: w.host}, c.now)

	d.tasks.add(w, msg.TaskDeployment{
		Execution:  e.ID,
		Allocation: slot.Allocation,
		Memory:     c.managed(slot.Kind) / int64(c.layout.tasks[shared]),
		Winners:    c.winners(e),
	})
	if c.layout.isProducer[e.ID.Vertex] {
		d.producers.Add(e.ID, placement.Host{ID: w.host, Address: w.dataAddress})
	}
}

// send sends the messages. All of them share the bytes that say where the producers run.
func (d *deployment) send() {
	producers := d.producers.Encode()
	for _, w := range d.tasks.workers {
		m := msg.DeployTasks{Host: w.host, Tasks: d.tasks.parts[w]}
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
