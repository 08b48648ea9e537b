package sim

import (
	"math/rand/v2"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
)

// Edges says which edges of jobs are blocking.
type Edges string

// The values of Edges.
const (
	Pipelined Edges = ""
	Mixed     Edges = "mixed"     // as the seed draws
	Blocking  Edges = "blocking"  // all exchanges, also those into commits
	Automatic Edges = "automatic" // none by plan; if slots are too few, the JobMaster makes all exchanges blocking
	Later     Edges = "later"     // as Automatic, but those of sources are blocking by plan: slots may be too few after them
)

// mode is the value of execution.batch-shuffle-mode.
func (e Edges) mode() string {
	if e == Automatic || e == Later {
		return config.ShuffleAutomatic
	}
	return "ALL_EXCHANGES_PIPELINED" // otherwise the model of a plan says itself which edges are blocking
}

func drawEdgesMode(r *rand.Rand) Edges {
	return [...]Edges{Pipelined, Pipelined, Pipelined, Mixed, Blocking, Automatic, Later}[r.IntN(7)]
}

// mostLarge is how many sources and sinks a large job has beyond the slots of all workers, at most.
const mostLarge = 3

// drawEdges draws diamonds, the kinds of edges, and tasks of large jobs.
func drawEdges(w *World, jobs []*job) {
	s := w.schedule
	if s.Edges == Pipelined {
		return
	}
	diamonds, sizes := w.stream("diamonds"), w.stream("sizes")
	for _, j := range jobs {
		j.diamond = diamonds.IntN(3) == 0
		switch s.Edges {
		case Mixed:
			r := w.stream("kinds of " + string(j.id))
			j.kinds = func(g *jobgraph.JobGraph) error { return mixKinds(r, g) }
		case Blocking:
			j.kinds = (*jobgraph.JobGraph).BlockExchanges
		case Later:
			j.kinds = blockSources
		case Pipelined, Automatic:
		}
		sources, sinks := 1+sizes.IntN(mostLarge), sizes.IntN(2)
		switch {
		case s.Large && s.Edges == Later:
			j.sinks = s.mostSlots() + sources
		case s.Large:
			j.sources = s.mostSlots() + sources
			if sinks > 0 {
				j.sinks = s.mostSlots() + 1
			}
		}
		if s.Tasks > 0 {
			j.sources, j.sinks = min(j.sources, s.Tasks), min(j.sinks, s.Tasks)
		}
	}
}

// blockSources makes the edges of sources blocking.
func blockSources(g *jobgraph.JobGraph) error {
	for i := range g.Edges {
		if g.Vertices[g.Edges[i].From].Source {
			g.Edges[i].Kind = jobgraph.Blocking
		}
	}
	return g.SettleKinds()
}

// mixKinds makes some edges blocking, of any pattern, and those others that must be then.
func mixKinds(r *rand.Rand, g *jobgraph.JobGraph) error {
	for i := range g.Edges {
		if r.IntN(2) == 0 {
			g.Edges[i].Kind = jobgraph.Blocking
		}
	}
	return g.SettleKinds()
}
