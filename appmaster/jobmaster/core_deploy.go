package jobmaster

import (
	"slices"

	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/executiongraph"
	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/slotpool"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// deploy sends the tasks of every waiting region for which there are enough slots with a ready
// host. Each host gets one message, even for several regions.
func (c *core) deploy() {
	if !c.active() || !c.supplied {
		return
	}
	c.supplied = false
	d := deployment{
		core:       c,
		messages:   make(map[ids.ResourceID]*msg.DeployTasks),
		hostIndex:  make(map[ids.HostID]int),
		placements: make([]*msg.VertexPlacement, len(c.config.Graph.Vertices)),
	}
	for _, r := range c.pool.Assign(c.takesTasks) {
		c.regions[r].phase = deployed
		c.reached(stepDeployed)
		for e := range c.graph.Region(r) {
			d.add(e)
		}
	}
	d.send()
}

// takesTasks tells whether a slot's worker has a host that takes tasks.
func (c *core) takesTasks(slot slotpool.Slot) bool {
	w := c.byResource[slot.Resource]
	return w != nil && w.ready()
}

// deployment gathers the messages of one deploy. The messages share placements and hosts, which
// nobody changes after they are sent.
type deployment struct {
	core       *core
	messages   map[ids.ResourceID]*msg.DeployTasks
	hosts      []msg.HostAddress
	hostIndex  map[ids.HostID]int
	placements []*msg.VertexPlacement // of vertices that others read from
}

func (d *deployment) add(e *executiongraph.Execution) {
	c := d.core
	shared := c.layout.sharedSlot(e)
	slot, _ := c.pool.At(shared)
	w := c.byResource[slot.Resource]
	c.graph.Deploy(e, w.resource, w.host, c.now)

	m := d.messages[w.resource]
	if m == nil {
		m = &msg.DeployTasks{Host: w.host}
		d.messages[w.resource] = m
		d.hostIndex[w.host] = len(d.hosts)
		d.hosts = append(d.hosts, msg.HostAddress{Host: w.host, DataAddress: w.dataAddress})
	}
	m.Tasks = append(m.Tasks, msg.TaskDeployment{
		Execution:  e.ID,
		Allocation: slot.Allocation,
		MemoryMB:   c.config.SlotMemoryMB / c.layout.tasks[shared],
	})
	if c.layout.isProducer[e.ID.Vertex] {
		d.place(e, d.hostIndex[w.host])
	}
}

// place notes where a producer runs. Subtasks that are not deployed now belong to other regions,
// whose output no task of this deployment reads.
func (d *deployment) place(e *executiongraph.Execution, host int) {
	v := e.ID.Vertex
	p := d.placements[v]
	if p == nil {
		parallelism := d.core.config.Graph.Vertices[v].Parallelism
		p = &msg.VertexPlacement{
			Vertex: v, Attempts: make([]int, parallelism), HostIndex: slices.Repeat([]int{-1}, parallelism),
		}
		d.placements[v] = p
	}
	p.Attempts[e.ID.Subtask] = e.ID.Attempt
	p.HostIndex[e.ID.Subtask] = host
}

func (d *deployment) send() {
	for _, w := range d.core.workers {
		m := d.messages[w.resource]
		if m == nil {
			continue
		}
		for _, v := range d.read(m.Tasks) {
			m.Placements = append(m.Placements, *d.placements[v])
		}
		if len(m.Placements) > 0 {
			m.Hosts = d.hosts
		}
		d.core.send(w, *m)
	}
}

// read lists the vertices from which any of these tasks reads, ascending.
func (d *deployment) read(tasks []msg.TaskDeployment) []int {
	var vertices []int
	last := -1
	for _, t := range tasks {
		if v := t.Execution.Vertex; v != last {
			vertices = append(vertices, d.core.layout.producers[v]...)
			last = v
		}
	}
	slices.Sort(vertices)
	return slices.Compact(vertices)
}
