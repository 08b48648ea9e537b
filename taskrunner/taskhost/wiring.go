package taskhost

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/msg/placement"
	"github.com/bobbin-yarn/bobbin/taskrunner/exchange"
)

// wiring connects the tasks of one message. Tasks that read an edge from all of its producers share
// these producers.
type wiring struct {
	host     ids.HostID // of the tasks
	graph    *jobgraph.JobGraph
	deployed tasksDeployed
	sources  map[[2]int]*exchange.Sources // by vertex and output
}

func newWiring(host ids.HostID, graph *jobgraph.JobGraph, m tasksDeployed) *wiring {
	if m.Blocking && m.Malformed == nil {
		graph, m.Malformed = graph.WithBlockingExchanges()
	}
	return &wiring{host: host, graph: graph, deployed: m, sources: make(map[[2]int]*exchange.Sources)}
}

// read gives the event for a message of the TaskExecutor.
func read(m msg.Message, graph *jobgraph.JobGraph) event {
	deploy, is := m.(msg.DeployTasks)
	if !is {
		return told{m}
	}
	parallelism := make([]int, len(graph.Vertices))
	for v, vertex := range graph.Vertices {
		parallelism[v] = vertex.Parallelism
	}
	producers, err := placement.Decode(deploy.Producers, parallelism)
	return tasksDeployed{DeployTasks: deploy, Producers: producers, Malformed: err}
}

// wire finds the inputs and outputs of a task: outputs from the graph, inputs from the placement of
// the producers in the message.
func (w *wiring) wire(t msg.TaskDeployment) (deployment, error) {
	d := deployment{Execution: t.Execution}
	e := t.Execution
	if e.Vertex < 0 || e.Vertex >= len(w.graph.Vertices) {
		return d, fmt.Errorf("deploy task %s: the job has %d vertices", e, len(w.graph.Vertices))
	}
	if e.Subtask < 0 || e.Subtask >= w.graph.Vertices[e.Vertex].Parallelism {
		return d, fmt.Errorf("deploy task %s: the vertex has %d subtasks", e, w.graph.Vertices[e.Vertex].Parallelism)
	}
	if t.Winners != nil { // what they have written is not read again
		d.Winners, d.Inputs = t.Winners, make([]input, len(w.graph.Inputs(jobgraph.VertexID(e.Vertex))))
	}
	for _, edge := range w.graph.Inputs(jobgraph.VertexID(e.Vertex)) {
		if d.Winners != nil {
			break
		}
		in, err := w.input(edge, e.Subtask)
		if err != nil {
			return d, fmt.Errorf("deploy task %s: %w", e, err)
		}
		d.Inputs = append(d.Inputs, in)
	}
	for _, edge := range w.graph.Outputs(jobgraph.VertexID(e.Vertex)) {
		d.Outputs = append(d.Outputs, output{Channels: w.graph.Channels(edge), Blocking: edge.Kind == jobgraph.Blocking})
	}
	return d, nil
}

// input gives the input of a subtask from an edge.
func (w *wiring) input(edge jobgraph.Edge, subtask int) (input, error) {
	if edge.Pattern == jobgraph.Pointwise {
		producers, err := w.producersOf(edge, subtask, 1)
		return input{One: producers}, err
	}
	key := [2]int{int(edge.From), edge.Output}
	if w.sources[key] == nil {
		producers, err := w.producersOf(edge, 0, w.graph.Producers(edge))
		if err != nil {
			return input{}, err
		}
		w.sources[key] = exchange.NewSources(w.host, producers)
	}
	return input{All: w.sources[key], Channel: subtask}, nil
}

// producersOf gives n producers of an edge, beginning with first.
func (w *wiring) producersOf(edge jobgraph.Edge, first, n int) ([]exchange.Producer, error) {
	if w.deployed.Malformed != nil {
		return nil, w.deployed.Malformed
	}
	find := w.deployed.Producers.Find
	if edge.Kind == jobgraph.Blocking {
		find = w.deployed.Producers.FindPartitions
	}
	producers := make([]exchange.Producer, n)
	for i := range producers {
		execution, host, found := find(int(edge.From), first+i)
		if !found {
			return nil, fmt.Errorf("no placement of producer %d of vertex %d, which it reads from", first+i, edge.From)
		}
		producers[i] = exchange.Producer{
			Partition: exchange.PartitionID{Execution: execution, Output: edge.Output},
			Host:      host.ID,
			Address:   host.Address,
			Finished:  edge.Kind == jobgraph.Blocking,
		}
	}
	return producers, nil
}
