package taskhost

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

// wiring connects the tasks of one message. Tasks that read an edge from all of its producers share
// these producers.
type wiring struct {
	host    ids.HostID // of the tasks
	graph   *jobgraph.JobGraph
	message msg.DeployTasks
	sources map[[2]int]*exchange.Sources // by vertex and output
}

func newWiring(host ids.HostID, graph *jobgraph.JobGraph, m msg.DeployTasks) *wiring {
	return &wiring{host, graph, m, make(map[[2]int]*exchange.Sources)}
}

// wire finds the inputs and outputs of a task: outputs from the graph, inputs from the placement of
// the producers in the message.
func (w *wiring) wire(t msg.TaskDeployment) (deployment, error) {
	d := deployment{Execution: t.Execution, MemoryMB: t.MemoryMB}
	e := t.Execution
	if e.Vertex < 0 || e.Vertex >= len(w.graph.Vertices) {
		return d, fmt.Errorf("deploy task %s: the job has %d vertices", e, len(w.graph.Vertices))
	}
	if e.Subtask < 0 || e.Subtask >= w.graph.Vertices[e.Vertex].Parallelism {
		return d, fmt.Errorf("deploy task %s: the vertex has %d subtasks", e, w.graph.Vertices[e.Vertex].Parallelism)
	}
	for _, edge := range w.graph.Inputs(jobgraph.VertexID(e.Vertex)) {
		in, err := w.input(edge, e.Subtask)
		if err != nil {
			return d, fmt.Errorf("deploy task %s: %w", e, err)
		}
		d.Inputs = append(d.Inputs, in)
	}
	for _, edge := range w.graph.Outputs(jobgraph.VertexID(e.Vertex)) {
		d.Outputs = append(d.Outputs, w.graph.Channels(edge))
	}
	return d, nil
}

// input gives the input of a subtask from an edge.
func (w *wiring) input(edge jobgraph.Edge, subtask int) (input, error) {
	if edge.Pattern == jobgraph.Pointwise {
		producers, err := w.producers(edge, subtask, 1)
		return input{One: producers}, err
	}
	key := [2]int{int(edge.From), edge.Output}
	if w.sources[key] == nil {
		producers, err := w.producers(edge, 0, w.graph.Producers(edge))
		if err != nil {
			return input{}, err
		}
		w.sources[key] = exchange.NewSources(w.host, producers)
	}
	return input{All: w.sources[key], Channel: subtask}, nil
}

// producers gives n producers of an edge, beginning with first.
func (w *wiring) producers(edge jobgraph.Edge, first, n int) ([]exchange.Producer, error) {
	m := w.message
	placement, err := placementOf(m, int(edge.From), w.graph.Vertices[edge.From].Parallelism)
	if err != nil {
		return nil, err
	}
	producers := make([]exchange.Producer, n)
	for i := range producers {
		from := first + i
		host := placement.HostIndex[from]
		if host < 0 || host >= len(m.Hosts) {
			return nil, fmt.Errorf("producer %d of vertex %d is placed on host %d of %d", from, edge.From, host, len(m.Hosts))
		}
		execution := ids.ExecutionAttemptID{Vertex: int(edge.From), Subtask: from, Attempt: placement.Attempts[from]}
		producers[i] = exchange.Producer{
			Partition: exchange.PartitionID{Execution: execution, Output: edge.Output},
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
