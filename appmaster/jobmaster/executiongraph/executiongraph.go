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
	"github.com/bobbin-yarn/bobbin/internal/msg/measures"
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

	Place // where it runs; empty before it is deployed

	Entered msg.StateTimes
	measures.Measures

	at      int               // its index in Graph.running[Host], from its deployment to its end
	earlier []msg.TaskAttempt // of its subtask, the oldest first
}

// Place is where an execution runs.
type Place struct {
	Resource ids.ResourceID
	Node     string // of the worker
	Host     ids.HostID
}

// Started is when the execution was deployed, or zero.
func (e *Execution) Started() time.Time { return e.Entered.At(msg.ExecutionDeploying) }

// Ended is when the execution reached a final state, or zero.
func (e *Execution) Ended() time.Time {
	if !e.State.Final() {
		return time.Time{}
	}
	return e.Entered.At(e.State)
}

// Attempt describes the execution for users.
func (e *Execution) Attempt(now time.Time) msg.TaskAttempt {
	return msg.TaskAttempt{
		Number: e.ID.Attempt, State: e.State, Resource: e.Resource, Node: e.Node, Entered: e.Entered,
		Traffic: e.Metrics.Traffic, Times: e.Times(now),
	}
}

// Graph holds the executions of a job.
type Graph struct {
	job        *jobgraph.JobGraph
	executions []Execution // by vertex, then by subtask
	first      []int       // index of each vertex's subtask 0 in executions
	regions    []region
	component  []jobgraph.VertexID // of each vertex: see jobgraph.Components
	components []component         // by their first vertex
	exchanges  []*exchange         // the blocking edges
	inputs     [][]*exchange       // of each vertex
	outputs    [][]*exchange
	epoch      ids.Epoch
	running    map[ids.HostID][]int         // indexes of the executions in a host that have not ended
	canceling  map[ids.HostID]int           // executions in a host that are CANCELING
	counts     []map[msg.ExecutionState]int // tasks of each vertex by state
	finished   int
	final      int
	starting   int // executions that are DEPLOYING
	working    int // executions that are RUNNING
	deployment deployment
	modified   time.Time
	history    int // earlier executions that each subtask keeps
}

type region struct {
	members  []int // indexes into executions, ascending
	final    int   // how many have ended
	consumed bool  // it has read its inputs
}

// New builds the graph of a valid job, whose master has this epoch: all executions are CREATED,
// attempt 0. Each subtask keeps history earlier executions, or fewer: see msg.EarlierAttempts. The time and
// memory are proportional to the number of subtasks, not to their connections.
func New(job *jobgraph.JobGraph, epoch ids.Epoch, history int) *Graph {
	g := &Graph{
		job:    job,
		epoch:  epoch,
		first:  make([]int, len(job.Vertices)),
		counts: make([]map[msg.ExecutionState]int, len(job.Vertices)),

		running: make(map[ids.HostID][]int), canceling: make(map[ids.HostID]int),
	}
	total := 0
	for v, vertex := range job.Vertices {
		g.first[v] = total
		g.counts[v] = map[msg.ExecutionState]int{msg.ExecutionCreated: vertex.Parallelism}
		total += vertex.Parallelism
	}
	g.history = msg.EarlierAttempts(total, history)
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
	g.newExchanges()
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
	switch e := g.At(id.Vertex, id.Subtask); {
	case e == nil:
		return nil, fmt.Errorf("%w: %s", errUnknown, id)
	case e.ID != id:
		return nil, fmt.Errorf("%w: %s is now %s", errStale, id, e.ID)
	default:
		return e, nil
	}
}

// At gives the execution of a subtask, in its current attempt; nil: the job has no such subtask.
func (g *Graph) At(vertex, subtask int) *Execution {
	if vertex < 0 || vertex >= len(g.first) || subtask < 0 || subtask >= g.job.Vertices[vertex].Parallelism {
		return nil
	}
	return &g.executions[g.first[vertex]+subtask]
}

// TaskName is the name of an execution for users: "vertex (subtask/parallelism)", with subtasks
// from 1, as Flink prints it.
func (g *Graph) TaskName(e *Execution) string {
	v := g.job.Vertices[e.ID.Vertex]
	return fmt.Sprintf("%s (%d/%d)", v.Name, e.ID.Subtask+1, v.Parallelism)
}

// Start says that the job begins now: so long its executions have been CREATED.
func (g *Graph) Start(now time.Time) {
	for e := range g.All() {
		if e.State == msg.ExecutionCreated {
			e.Entered.Enter(msg.ExecutionCreated, now)
		}
	}
}

// Deploy moves a SCHEDULED execution to DEPLOYING in a host.
func (g *Graph) Deploy(e *Execution, at Place, now time.Time) {
	g.mustTransition(e, msg.ExecutionDeploying, now)
	e.Place = at
	e.at = len(g.running[at.Host])
	g.running[at.Host] = append(g.running[at.Host], g.first[e.ID.Vertex]+e.ID.Subtask)
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

// Recover makes an execution FINISHED that has finished under an earlier master.
func (g *Graph) Recover(e *Execution, was msg.TaskAttempt) {
	if e.State != msg.ExecutionCreated {
		panic(fmt.Sprintf("executiongraph: recovery of %s in state %s", e.ID, e.State))
	}
	g.count(e, -1)
	e.State = msg.ExecutionFinished
	g.count(e, +1)
	e.ID.Attempt, e.Resource, e.Node, e.Entered = was.Number, was.Resource, was.Node, was.Entered
	e.Ends(msg.TaskMetrics{Traffic: was.Traffic, Activity: msg.Activity{Idle: was.Times.Idle, BackPressured: was.Times.BackPressured}})
}

// Adopt makes an execution FINISHED that has run under an earlier master as this attempt, of which its worker has reported the end.
func (g *Graph) Adopt(e *Execution, ended msg.TaskStateChange, resource ids.ResourceID, node string, now time.Time) {
	was := msg.TaskAttempt{Resource: resource, Node: node, Traffic: ended.Metrics.Traffic}
	was.Times.Idle, was.Times.BackPressured = ended.Metrics.Idle, ended.Metrics.BackPressured
	was.Entered.Enter(msg.ExecutionFinished, now)
	g.Recover(e, was)
	e.ID = ended.Execution
}

// Disown takes Adopt back: the execution runs under this master.
func (g *Graph) Disown(e *Execution, now time.Time) {
	id := ids.ExecutionAttemptID{Epoch: g.epoch, Vertex: e.ID.Vertex, Subtask: e.ID.Subtask}
	*e = Execution{ID: id, State: e.State, Region: e.Region}
	g.move(e, msg.ExecutionCreated, now)
}

// Restart replaces an execution that has ended by its next attempt, which is CREATED. The subtask keeps what is known of
// the last one.
func (g *Graph) Restart(e *Execution, now time.Time) {
	if !e.State.Final() {
		panic(fmt.Sprintf("executiongraph: restart of %s in state %s", e.ID, e.State))
	}
	next := Execution{ID: e.ID, State: e.State, Region: e.Region, earlier: e.earlier}
	if next.ID.Attempt++; next.ID.Epoch != g.epoch { // it was adopted
		next.ID.Epoch, next.ID.Attempt = g.epoch, 0
	}
	if g.history > 0 {
		switch len(next.earlier) {
		case 0:
			next.earlier = make([]msg.TaskAttempt, 0, g.history)
		case g.history:
			next.earlier = slices.Delete(next.earlier, 0, 1)
		}
		next.earlier = append(next.earlier, e.Attempt(now))
	}
	*e = next
	g.move(e, msg.ExecutionCreated, now)
}

// Earlier is how many earlier executions of its subtask are kept.
func (e *Execution) Earlier() int { return len(e.earlier) }

// Subtask describes the subtask of an execution for users. Hosts report changes at this interval.
func (e *Execution) Subtask(now time.Time, interval time.Duration) msg.Subtask {
	return msg.Subtask{TaskAttempt: e.Attempt(now), Sample: e.Sample(now, interval), Earlier: slices.Clone(e.earlier)}
}
