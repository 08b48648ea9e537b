package executiongraph

import (
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// next lists the states that may follow each state. A task that fails before it reports RUNNING goes from DEPLOYING to FAILED. One
// that gets no slot goes from SCHEDULED to FAILED, and one whose inputs are lost back to CREATED. A task that ends while a cancel is
// on its way counts as CANCELED, whatever it reports.
func next(from msg.ExecutionState) []msg.ExecutionState {
	switch from {
	case msg.ExecutionCreated:
		return []msg.ExecutionState{msg.ExecutionScheduled, msg.ExecutionCanceled}
	case msg.ExecutionScheduled:
		return []msg.ExecutionState{msg.ExecutionDeploying, msg.ExecutionCanceled, msg.ExecutionFailed, msg.ExecutionCreated}
	case msg.ExecutionDeploying:
		return []msg.ExecutionState{msg.ExecutionRunning, msg.ExecutionFinished, msg.ExecutionFailed, msg.ExecutionCanceling}
	case msg.ExecutionRunning:
		return []msg.ExecutionState{msg.ExecutionFinished, msg.ExecutionFailed, msg.ExecutionCanceling}
	case msg.ExecutionCanceling:
		return []msg.ExecutionState{msg.ExecutionCanceled}
	case msg.ExecutionFinished, msg.ExecutionCanceled, msg.ExecutionFailed:
		return nil // only Restart leaves a final state
	}
	return nil
}

// Transition changes an execution's state. On an error the transition is illegal, and nothing has
// changed.
func (g *Graph) Transition(e *Execution, to msg.ExecutionState, now time.Time) error {
	if !slices.Contains(next(e.State), to) {
		return fmt.Errorf("execution %s cannot go from %s to %s", e.ID, e.State, to)
	}
	g.move(e, to, now)
	return nil
}

// mustTransition is for transitions that the JobMaster itself decides.
func (g *Graph) mustTransition(e *Execution, to msg.ExecutionState, now time.Time) {
	if err := g.Transition(e, to, now); err != nil {
		panic("executiongraph: " + err.Error())
	}
}

func (g *Graph) move(e *Execution, to msg.ExecutionState, now time.Time) {
	g.count(e, -1)
	e.State = to
	g.count(e, +1)
	g.deployment.update(g.starting > 0 && g.working == 0, now)
	e.Entered.Enter(to, now)
	if to.Final() {
		g.leave(e)
		g.forget(e, now)
	}
	g.modified = now
}

// count adds n to the counts for the state of an execution. Attempts beside the current one count only in their host.
func (g *Graph) count(e *Execution, n int) {
	if e.State == msg.ExecutionCanceling {
		if g.canceling[e.Host] += n; g.canceling[e.Host] == 0 {
			delete(g.canceling, e.Host)
		}
	}
	if e.beside {
		return
	}
	counts := g.counts[e.ID.Vertex]
	if counts[e.State] += n; counts[e.State] == 0 {
		delete(counts, e.State)
	}
	if e.State.Final() {
		g.final += n
		g.regions[e.Region].final += n
	}
	if e.State == msg.ExecutionFinished {
		g.finished += n
		for _, x := range g.outputs[e.ID.Vertex] {
			x.recalled = false
		}
	}
	switch e.State {
	case msg.ExecutionDeploying:
		g.starting += n
	case msg.ExecutionRunning:
		g.working += n
	default:
	}
}

// Canceling counts the executions in a host that are CANCELING.
func (g *Graph) Canceling(host ids.HostID) int { return g.canceling[host] }

// Cancel ends an execution that was not deployed. It sets a deployed one to CANCELING and returns
// true: the caller must tell the host. Ended executions do not change.
func (g *Graph) Cancel(e *Execution, now time.Time) (tell bool) {
	switch e.State {
	case msg.ExecutionCreated, msg.ExecutionScheduled:
		g.mustTransition(e, msg.ExecutionCanceled, now)
	case msg.ExecutionDeploying, msg.ExecutionRunning:
		g.mustTransition(e, msg.ExecutionCanceling, now)
		return true
	case msg.ExecutionCanceling, msg.ExecutionFinished, msg.ExecutionCanceled, msg.ExecutionFailed:
	}
	return false
}

// VertexState combines the states of a vertex's tasks into one.
func (g *Graph) VertexState(v int) msg.ExecutionState {
	return msg.VertexState(g.counts[v], g.job.Vertices[v].Parallelism)
}
