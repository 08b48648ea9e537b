package executiongraph

import (
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Beside the current attempt of a subtask, others may run: speculative executions of a task that is slow. The current attempt stands
// for the subtask: its state is the subtask's, and the partitions are its own. If another attempt finishes first, or the current one
// fails, they change places.
//
//	Speculate ──▶ beside ──▶ (Promote) current
//	                │
//	                └──▶ (ended) one of the earlier attempts

// Alone tells whether an execution shares its region with no other. Then it may have attempts beside it, because no other execution
// runs only with this one.
func (g *Graph) Alone(e *Execution) bool { return len(g.regions[e.Region].members) == 1 }

// Speculate deploys one more attempt of a subtask whose current attempt runs.
func (g *Graph) Speculate(e *Execution, at Place, now time.Time) *Execution {
	if !g.Alone(e) || e.State.Final() {
		panic(fmt.Sprintf("executiongraph: one more attempt of %s, which is %s", e.ID, e.State))
	}
	e.newest++
	other := &Execution{ID: e.ID, State: msg.ExecutionDeploying, Region: e.Region, beside: true}
	other.ID.Attempt = e.newest
	other.Entered.Enter(msg.ExecutionDeploying, now)
	g.place(other, at)
	index := g.index(e.ID)
	g.beside[index] = append(g.beside[index], other)
	g.modified = now
	return other
}

// Beside gives the attempts that run beside the current one of its subtask, also those that are being cancelled.
func (g *Graph) Beside(e *Execution) []*Execution { return slices.Clone(g.beside[g.index(e.ID)]) }

// IsBeside tells whether an execution is not the current attempt of its subtask.
func (e *Execution) IsBeside() bool { return e.beside }

// Promote makes an attempt that runs beside the current one the current one, and the other way round. Pointers to them change their
// meaning: it gives the new one to the current attempt, and the argument points to the one before.
func (g *Graph) Promote(e *Execution, now time.Time) (current *Execution) {
	current = &g.executions[g.index(e.ID)]
	if !e.beside || current.State.Final() {
		panic(fmt.Sprintf("executiongraph: %s cannot take the place of %s, which is %s", e.ID, current.ID, current.State))
	}
	g.count(current, -1)
	g.count(e, -1)
	*current, *e = *e, *current
	current.attempts, e.attempts = e.attempts, attempts{}
	current.beside, e.beside = false, true
	g.running[current.Host][current.at] = current
	g.running[e.Host][e.at] = e
	g.count(current, +1)
	g.count(e, +1)
	g.deployment.update(g.starting > 0 && g.working == 0, now)
	g.modified = now
	return current
}

// forget takes an attempt that has ended, and is not current, out of those that run.
func (g *Graph) forget(e *Execution, now time.Time) {
	if !e.beside {
		return
	}
	index := g.index(e.ID)
	rest := slices.DeleteFunc(g.beside[index], func(other *Execution) bool { return other == e })
	if g.beside[index] = rest; len(rest) == 0 {
		delete(g.beside, index)
	}
	g.keep(&g.executions[index].attempts, e.Attempt(now))
}
