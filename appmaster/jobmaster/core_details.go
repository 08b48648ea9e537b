package jobmaster

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/jobmaster/executiongraph"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// submitted is when the job began for its user.
func (c *core) submitted() time.Time {
	if c.config.Submitted.IsZero() {
		return c.entered[msg.JobInitializing]
	}
	return c.config.Submitted
}

// note says how the job runs, if users would not expect it.
func (c *core) note() string {
	switch {
	case c.dividing != "" && c.active():
		return "it ends its tasks, and begins again in waves, with blocking exchanges: " + c.dividing
	case c.waves != "":
		return "it runs in waves, with blocking exchanges: " + c.waves
	}
	if _, asks := c.askTime(); asks {
		return fmt.Sprintf("it waits up to %s for slots before it commits an output, because it cannot run in waves afterwards", divideAfter)
	}
	return ""
}

// details describes the job for users.
func (c *core) details() msg.JobDetails {
	d := msg.JobDetails{
		ID:         c.config.Job,
		Name:       c.config.Graph.Name,
		Status:     c.status,
		Start:      c.submitted(),
		Timestamps: maps.Clone(c.entered),
		Restarts:   c.restarted,
		Exceptions: slices.Clone(c.history),
		Counters:   make(map[string]int64),
		Steps:      slices.Clone(c.steps),

		Parallelism: c.config.Parallelism,
		Config:      c.config.Graph.Config,
		Note:        c.note(),

		AwaitsWorkers: c.awaitsHeld,
	}
	if c.status.GloballyTerminal() {
		d.End = c.entered[c.status]
	}
	if len(c.history) > 0 {
		root := c.history[0]
		d.Root = &root
	}
	for _, f := range c.failed {
		d.TaskFailures = append(d.TaskFailures, f.entry)
	}
	counters := c.counted()
	for v := range c.config.Graph.Vertices {
		vertex := c.vertexDetails(v)
		vertex.Counters = counters[v]
		for name, n := range counters[v] {
			d.Counters[name] += n
		}
		d.Vertices = append(d.Vertices, vertex)
	}
	return d
}

// isBlocked tells whether a task cannot be scheduled before others have ended: see canRun.
func (c *core) isBlocked(e *executiongraph.Execution) bool {
	return e.State == msg.ExecutionCreated && c.regions[e.Region].phase == blocked
}

func (c *core) vertexDetails(v int) msg.VertexDetails {
	vertex := c.config.Graph.Vertices[v]
	d := msg.VertexDetails{
		ID:          c.config.Graph.PublicID(jobgraph.VertexID(v)),
		Name:        vertex.Name,
		Parallelism: vertex.Parallelism,
		Group:       c.config.Graph.SlotGroups()[vertex.Group].Name,
		Status:      c.graph.VertexState(v),
		Tasks:       c.graph.Counts(v),
		Notes:       vertex.Notes,
	}
	for _, edge := range c.config.Graph.Inputs(jobgraph.VertexID(v)) {
		input := msg.InputOf(c.config.Graph, edge)
		if edge.Kind == jobgraph.Blocking {
			input.Missing = c.graph.Unwritten(edge, c.isBlocked)
		}
		d.Inputs = append(d.Inputs, input)
	}
	var last time.Time
	ended := true
	for _, e := range c.graph.Vertex(v) {
		if c.isBlocked(&e) {
			d.Blocked++
		}
		d.Earlier += c.graph.Others(&e)
		if started := e.Started(); !started.IsZero() && (d.Start.IsZero() || started.Before(d.Start)) {
			d.Start = started
		}
		if at := e.Ended(); at.After(last) {
			last = at
		}
		ended = ended && e.State.Final()
		d.Traffic.Add(e.Metrics.Traffic)
		d.Times.Add(e.Times(c.now))
	}
	if ended {
		d.End = last
	}
	if queue := c.splits[v]; queue != nil {
		d.Splits = msg.SplitProgress{Read: queue.done(), All: len(queue.splits), Bytes: queue.bytes}
		if d.Status == msg.ExecutionFinished { // also of an earlier master, whose splits this one has not given
			d.Splits.Read = d.Splits.All
		}
	}
	return d
}

// overview describes the job for a list of jobs.
func (c *core) overview() msg.JobOverview {
	o := msg.JobOverview{
		ID:         c.config.Job,
		Name:       c.config.Graph.Name,
		Status:     c.status,
		Start:      c.submitted(),
		Entered:    c.entered[c.status],
		Spent:      maps.Clone(c.spent),
		Restarts:   c.restarted,
		Modified:   c.graph.Modified(),
		Tasks:      make(map[msg.ExecutionState]int),
		TotalTasks: c.graph.Total(),
		Note:       c.note(),
		Partitions: c.graph.Served(),
	}
	o.Deploying, o.Deployed = c.graph.Deploying()
	if c.status.GloballyTerminal() {
		o.End = c.entered[c.status]
	}
	for v := range c.config.Graph.Vertices {
		for state, n := range c.graph.Counts(v) {
			o.Tasks[state] += n
		}
	}
	return o
}
