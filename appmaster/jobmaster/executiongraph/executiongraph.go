// Package executiongraph is the parallel plan of one job: a JobGraph with every
// vertex multiplied into its subtasks, each with its current attempt and state,
// divided into pipelined regions.
//
// A Graph is plain state that its JobMaster's core owns: no I/O, no clock, no
// goroutine, no lock. It imports ids, msg and jobgraph only.
package executiongraph

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Errors of lookups by an id that came from outside.
var (
	// errUnknown says that the job has no such subtask.
	errUnknown = errors.New("no such execution")
	// errStale says that the attempt is not the subtask's current one: the subtask was restarted, or
	// another master has deployed it.
	errStale = errors.New("execution was restarted")
)

// Execution is the current attempt of one subtask. Only the Graph changes its State.
type Execution struct {
	ID     ids.ExecutionAttemptID
	State  msg.ExecutionState
	Region int // index of its pipelined region

	// Resource and Host are where it runs; empty before it is deployed.
	Resource ids.ResourceID
	Host     ids.HostID

	Started time.Time // when it was deployed, or zero
	Ended   time.Time // when it reached a final state, or zero

	Traffic msg.Traffic // as last reported

	at int // its index in Graph.running[Host], from its deployment to its end
}

// Graph holds the executions of a job.
type Graph struct {
	job        *jobgraph.JobGraph
	executions []Execution // by vertex, then by subtask
	first      []int       // index of each vertex's subtask 0 in executions
	regions    []region
	running    map[ids.HostID][]int         // indexes of the executions in a host that have not ended
	counts     []map[msg.ExecutionState]int // tasks of each vertex by state
	finished   int
	final      int
	modified   time.Time
}

type region struct {
	members []int // indexes into executions, ascending
	final   int   // how many have ended
}

// New builds the graph of a valid job, whose master has this epoch: all executions are CREATED,
// attempt 0. Its time and memory are proportional to the number of subtasks, not to their connections.
func New(job *jobgraph.JobGraph, epoch ids.Epoch) *Graph {
	g := &Graph{
		job:    job,
		first:  make([]int, len(job.Vertices)),
		counts: make([]map[msg.ExecutionState]int, len(job.Vertices)),

		running: make(map[ids.HostID][]int),
	}
	total := 0
	for v, vertex := range job.Vertices {
		g.first[v] = total
		g.counts[v] = map[msg.ExecutionState]int{msg.ExecutionCreated: vertex.Parallelism}
		total += vertex.Parallelism
	}
	g.executions = make([]Execution, total)
	for v, vertex := range job.Vertices {
		for s := range vertex.Parallelism {
			g.executions[g.first[v]+s] = Execution{
				ID:    ids.ExecutionAttemptID{Epoch: epoch, Vertex: v, Subtask: s},
				State: msg.ExecutionCreated,
			}
		}
	}
	g.divide()
	return g
}

// Total is the number of executions.
func (g *Graph) Total() int { return len(g.executions) }

// Finished tells whether every execution is FINISHED.
func (g *Graph) Finished() bool { return g.finished == len(g.executions) }

// Ended tells whether every execution has reached a final state.
func (g *Graph) Ended() bool { return g.final == len(g.executions) }

// Modified is when an execution last changed its state.
func (g *Graph) Modified() time.Time { return g.modified }

// All gives every execution, by vertex and subtask.
func (g *Graph) All() iter.Seq[*Execution] {
	return func(yield func(*Execution) bool) {
		for i := range g.executions {
			if !yield(&g.executions[i]) {
				return
			}
		}
	}
}

// In gives the executions in a host that have not ended, by vertex and subtask.
func (g *Graph) In(host ids.HostID) []*Execution {
	running := slices.Sorted(slices.Values(g.running[host]))
	executions := make([]*Execution, len(running))
	for i, index := range running {
		executions[i] = &g.executions[index]
	}
	return executions
}

// Vertex gives the executions of one vertex, by subtask.
func (g *Graph) Vertex(v int) []Execution {
	return g.executions[g.first[v] : g.first[v]+g.job.Vertices[v].Parallelism]
}

// Counts gives the number of tasks of a vertex in each state; states without tasks are missing.
func (g *Graph) Counts(v int) map[msg.ExecutionState]int { return maps.Clone(g.counts[v]) }

// Current finds an execution by an id from another process. The error is errUnknown or errStale.
func (g *Graph) Current(id ids.ExecutionAttemptID) (*Execution, error) {
	if id.Vertex < 0 || id.Vertex >= len(g.first) || id.Subtask < 0 || id.Subtask >= g.job.Vertices[id.Vertex].Parallelism {
		return nil, fmt.Errorf("%w: %s", errUnknown, id)
	}
	e := &g.executions[g.first[id.Vertex]+id.Subtask]
	if e.ID != id {
		return nil, fmt.Errorf("%w: %s is now %s", errStale, id, e.ID)
	}
	return e, nil
}

// TaskName is the name of an execution for users: "vertex (subtask/parallelism)", with subtasks
// from 1, as Flink prints it.
func (g *Graph) TaskName(e *Execution) string {
	v := g.job.Vertices[e.ID.Vertex]
	return fmt.Sprintf("%s (%d/%d)", v.Name, e.ID.Subtask+1, v.Parallelism)
}

// Deploy moves a SCHEDULED execution to DEPLOYING in a host.
func (g *Graph) Deploy(e *Execution, resource ids.ResourceID, host ids.HostID, now time.Time) {
	g.mustTransition(e, msg.ExecutionDeploying, now)
	e.Resource, e.Host, e.Started = resource, host, now
	e.at = len(g.running[host])
	g.running[host] = append(g.running[host], g.first[e.ID.Vertex]+e.ID.Subtask)
}

// leave takes an execution that ends out of its host.
func (g *Graph) leave(e *Execution) {
	running := g.running[e.Host]
	last := len(running) - 1
	if last < 0 { // it ends before its deployment
		return
	}
	moved := running[last]
	running[e.at] = moved
	g.executions[moved].at = e.at
	if last == 0 {
		delete(g.running, e.Host)
	} else {
		g.running[e.Host] = running[:last]
	}
}

// Recover makes an execution FINISHED that has finished under an earlier master. It has no times.
func (g *Graph) Recover(e *Execution) {
	if e.State != msg.ExecutionCreated {
		panic(fmt.Sprintf("executiongraph: recovery of %s in state %s", e.ID, e.State))
	}
	g.move(e, msg.ExecutionFinished, time.Time{})
}

// Restart replaces an execution that has ended by its next attempt, which is CREATED and keeps
// nothing of the last one.
func (g *Graph) Restart(e *Execution, now time.Time) {
	if !e.State.Final() {
		panic(fmt.Sprintf("executiongraph: restart of %s in state %s", e.ID, e.State))
	}
	from := e.State
	id := e.ID
	id.Attempt++
	*e = Execution{ID: id, State: from, Region: e.Region}
	g.move(e, msg.ExecutionCreated, now)
}
