package jobmaster

import (
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// details describes the job for users.
func (c *core) details() msg.JobDetails {
	d := msg.JobDetails{
		ID:         c.config.Job,
		Name:       c.config.Graph.Name,
		Status:     c.status,
		Start:      c.entered[msg.JobInitializing],
		Timestamps: maps.Clone(c.entered),
		Restarts:   c.restarted,
		Exceptions: slices.Clone(c.history),
		Counters:   c.counters.sum(),
		Steps:      slices.Clone(c.steps),

		Parallelism: c.config.Parallelism,
		Config:      c.config.Graph.Config,
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
	for v := range c.config.Graph.Vertices {
		d.Vertices = append(d.Vertices, c.vertexDetails(v))
	}
	return d
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
	}
	for _, edge := range c.config.Graph.Inputs(jobgraph.VertexID(v)) {
		d.Inputs = append(d.Inputs, msg.VertexInput{Vertex: c.config.Graph.PublicID(edge.From), Pattern: edge.Pattern})
	}
	var last time.Time
	ended := true
	for _, e := range c.graph.Vertex(v) {
		if !e.Started.IsZero() && (d.Start.IsZero() || e.Started.Before(d.Start)) {
			d.Start = e.Started
		}
		if e.Ended.After(last) {
			last = e.Ended
		}
		ended = ended && e.State.Final()
		d.Traffic.Add(e.Traffic)
	}
	if ended {
		d.End = last
	}
	return d
}

// overview describes the job for a list of jobs.
func (c *core) overview() msg.JobOverview {
	o := msg.JobOverview{
		ID:         c.config.Job,
		Name:       c.config.Graph.Name,
		Status:     c.status,
		Start:      c.entered[msg.JobInitializing],
		Modified:   c.graph.Modified(),
		Tasks:      make(map[msg.ExecutionState]int),
		TotalTasks: c.graph.Total(),
	}
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
