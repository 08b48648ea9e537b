package executiongraph

import (
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// Idle tells whether no attempt is in a host that has not ended.
func (g *Graph) Idle() bool { return len(g.running) == 0 }

// Replan builds the graph of the same job with other kinds of edges, while this one is Idle. All tasks run again, those that have
// ended as their next attempts. This graph is of no use afterwards.
func (g *Graph) Replan(job *jobgraph.JobGraph, now time.Time) *Graph {
	next := New(job, g.epoch, g.history)
	for i := range g.executions {
		e := &g.executions[i]
		if e.State.Final() {
			g.Restart(e, now)
		}
		next.executions[i].ID, next.executions[i].attempts = e.ID, e.attempts
	}
	next.deployment, next.modified = g.deployment, g.modified
	return next
}
