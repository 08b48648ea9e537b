package taskhost

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

// wire finds out what a task is connected to: its outputs from the graph, its
// inputs from where the message places the producers.
func wire(graph *jobgraph.JobGraph, m msg.DeployTasks, t msg.TaskDeployment) (deployment, error) {
	d := deployment{Execution: t.Execution, MemoryMB: t.MemoryMB}
	e := t.Execution
	if e.Vertex < 0 || e.Vertex >= len(graph.Vertices) {
		return d, fmt.Errorf("deploy task %s: the job has %d vertices", e, len(graph.Vertices))
	}
	if e.Subtask < 0 || e.Subtask >= graph.Vertices[e.Vertex].Parallelism {
		return d, fmt.Errorf("deploy task %s: the vertex has %d subtasks", e, graph.Vertices[e.Vertex].Parallelism)
	}
	for _, edge := range graph.Inputs(jobgraph.VertexID(e.Vertex)) {
		producers, err := producersOf(graph, m, edge, e.Subtask)
		if err != nil {
			return d, fmt.Errorf("deploy task %s: %w", e, err)
		}
		d.Inputs = append(d.Inputs, producers)
	}
	for _, edge := range graph.Outputs(jobgraph.VertexID(e.Vertex)) {
		d.Outputs = append(d.Outputs, graph.Channels(edge))
	}
	return d, nil
}

// producersOf gives the channels that a subtask reads of an edge.
func producersOf(graph *jobgraph.JobGraph, m msg.DeployTasks, edge jobgraph.Edge, subtask int) ([]exchange.Producer, error) {
	placement, err := placementOf(m, int(edge.From), graph.Vertices[edge.From].Parallelism)
	if err != nil {
		return nil, err
	}
	first, channel := 0, subtask
	if edge.Pattern == jobgraph.Pointwise {
		first, channel = subtask, 0
	}
	producers := make([]exchange.Producer, graph.Producers(edge))
	for i := range producers {
		from := first + i
		host := placement.HostIndex[from]
		if host < 0 || host >= len(m.Hosts) {
			return nil, fmt.Errorf("producer %d of vertex %d is placed on host %d of %d", from, edge.From, host, len(m.Hosts))
		}
		execution := ids.ExecutionAttemptID{Vertex: int(edge.From), Subtask: from, Attempt: placement.Attempts[from]}
		producers[i] = exchange.Producer{
			Partition: exchange.PartitionID{Execution: execution, Output: edge.Output},
			Channel:   channel,
			Host:      m.Hosts[host].Host,
			Address:   m.Hosts[host].DataAddress,
		}
	}
	return producers, nil
}

func placementOf(m msg.DeployTasks, vertex, parallelism int) (msg.VertexPlacement, error) {
	for _, p := range m.Placements {
		if p.Vertex != vertex {
			continue
		}
		if len(p.Attempts) != parallelism || len(p.HostIndex) != parallelism {
			return p, fmt.Errorf("placement of vertex %d has %d attempts on %d hosts, want %d of each",
				vertex, len(p.Attempts), len(p.HostIndex), parallelism)
		}
		return p, nil
	}
	return msg.VertexPlacement{}, fmt.Errorf("no placement of vertex %d, which it reads from", vertex)
}
