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

// Execution is an attempt of one subtask: its current one, or one that runs beside it (see speculation.go). Only the Graph changes
// its State.
type Execution struct {
	ID     ids.ExecutionAttemptID
	State  msg.ExecutionState
	Region int // index of its pipelined region

	Place // where it runs; empty before it is deployed

	Entered msg.StateTimes
	measures.Measures

	at     int  // its index in Graph.running[Host], from its deployment to its end
	beside bool // it is not the current attempt

	attempts // of its subtask, if it is the current one
}

// attempts is what a subtask keeps of its attempts.
type attempts struct {
	newest  int               // the highest number of an attempt under this master
	earlier []msg.TaskAttempt // those that have ended, and are not current; in the order of their ends
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
	running    map[ids.HostID][]*Execution  // those in a host that have not ended
	beside     map[int][]*Execution         // attempts that run beside the current one of a subtask, by its index
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

		running: make(map[ids.HostID][]*Execution), canceling: make(map[ids.HostID]int), beside: make(map[int][]*Execution),
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

// Ended tells whether every execution has reached a final state, and no other attempt runs.
func (g *Graph) Ended() bool { return g.final == len(g.executions) && len(g.beside) == 0 }

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

// In gives the attempts in a host that have not ended, by vertex, subtask and number.
func (g *Graph) In(host ids.HostID) []ids.ExecutionAttemptID {
	running := make([]ids.ExecutionAttemptID, len(g.running[host]))
	for i, e := range g.running[host] {
		running[i] = e.ID
	}
	slices.SortFunc(running, ids.ExecutionAttemptID.Compare)
	return running
}

// Vertex gives the executions of one vertex, by subtask.
func (g *Graph) Vertex(v int) []Execution {
	return g.executions[g.first[v] : g.first[v]+g.job.Vertices[v].Parallelism]
}

// Counts gives the number of tasks of a vertex in each state; states without tasks are missing.
func (g *Graph) Counts(v int) map[msg.ExecutionState]int { return maps.Clone(g.counts[v]) }

// Find finds an attempt that has not ended, or the current one of a subtask, by an id from another process. The error is errUnknown
// or errStale.
func (g *Graph) Find(id ids.ExecutionAttemptID) (*Execution, error) {
	e, err := g.Current(id)
	if err == nil || !errors.Is(err, errStale) {
		return e, err
	}
	for _, other := range g.beside[g.index(id)] {
		if other.ID == id {
			return other, nil
		}
	}
	return nil, err
}

// Current finds the current attempt of a subtask by an id from another process. The error is errUnknown or errStale.
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

// index is the place of a subtask in executions. The job has it.
func (g *Graph) index(id ids.ExecutionAttemptID) int { return g.first[id.Vertex] + id.Subtask }

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
	g.place(e, at)
}

// place notes where an execution runs.
func (g *Graph) place(e *Execution, at Place) {
	e.Place = at
	e.at = len(g.running[at.Host])
	g.running[at.Host] = append(g.running[at.Host], e)
}

// leave takes an execution that ends out of its host.
func (g *Graph) leave(e *Execution) {
	running := g.running[e.Host]
	last := len(running) - 1
	if last < 0 { // it ends before its deployment
		return
	}
	moved := running[last]
	running[e.at], moved.at = moved, e.at
	running[last] = nil
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
	e.ID.Attempt, e.newest, e.Resource, e.Node, e.Entered = was.Number, was.Number, was.Resource, was.Node, was.Entered
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
	next := Execution{ID: e.ID, State: e.State, Region: e.Region, attempts: e.attempts}
	if e.ID.Epoch == g.epoch {
		next.newest++
	} else { // it was adopted
		next.newest = 0
	}
	next.ID.Epoch, next.ID.Attempt = g.epoch, next.newest
	g.keep(&next.attempts, e.Attempt(now))
	*e = next
	g.move(e, msg.ExecutionCreated, now)
}

// keep adds an attempt to the earlier ones of its subtask.
func (g *Graph) keep(h *attempts, a msg.TaskAttempt) {
	if g.history == 0 {
		return
	}
	switch len(h.earlier) {
	case 0:
		h.earlier = make([]msg.TaskAttempt, 0, g.history)
	case g.history:
		h.earlier = slices.Delete(h.earlier, 0, 1)
	}
	h.earlier = append(h.earlier, a)
}

// Others is how many executions of its subtask users see beside the current one: earlier ones, and those that run.
func (g *Graph) Others(e *Execution) int { return len(e.earlier) + len(g.beside[g.index(e.ID)]) }

// Subtask describes the subtask of a current execution for users. Hosts report changes at this interval.
func (g *Graph) Subtask(e *Execution, now time.Time, interval time.Duration) msg.Subtask {
	others := slices.Clone(e.earlier)
	for _, other := range g.beside[g.index(e.ID)] {
		others = append(others, other.Attempt(now))
	}
	return msg.Subtask{TaskAttempt: e.Attempt(now), Sample: e.Sample(now, interval), Earlier: others}
}
