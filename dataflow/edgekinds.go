package dataflow

import (
	"errors"
	"fmt"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// optionShuffleMode is Flink's option for the kinds of edges.
const optionShuffleMode = "execution.batch-shuffle-mode"

// shuffleMode is a value of optionShuffleMode.
type shuffleMode string

// The values of optionShuffleMode. The first one is the default, and Flink does not have it.
const (
	shuffleAutomatic shuffleMode = "AUTOMATIC"
	shufflePipelined shuffleMode = "ALL_EXCHANGES_PIPELINED"
	shuffleBlocking  shuffleMode = "ALL_EXCHANGES_BLOCKING"
)

// ErrWouldDeadlock says that a plan could wait for itself if all of its edges were pipelined.
var ErrWouldDeadlock = errors.New("the job could wait for itself forever")

// shuffleModeOf reads the option.
func shuffleModeOf(config map[string]string) (shuffleMode, error) {
	text, set := config[optionShuffleMode]
	if !set {
		return shuffleAutomatic, nil
	}
	for _, mode := range []shuffleMode{shuffleAutomatic, shufflePipelined, shuffleBlocking} {
		if strings.EqualFold(text, string(mode)) {
			return mode, nil
		}
	}
	return "", fmt.Errorf("option %s: %q is none of %s, %s and %s",
		optionShuffleMode, text, shuffleAutomatic, shufflePipelined, shuffleBlocking)
}

// setKinds decides which edges of a graph are blocking. In ALL_EXCHANGES_BLOCKING these are the all-to-all edges, except those into
// a commit, which has a few words of each task, and into a collect, which the client reads while the job runs. In each mode, an edge
// whose consumer holds it back is blocking where the job could otherwise wait for itself. held says which edges these are.
func setKinds(g *jobgraph.JobGraph, held []bool, mode shuffleMode) error {
	var undecided []int // edges that are blocking if they must be
	for i := range g.Edges {
		e := &g.Edges[i]
		to := &g.Vertices[e.To]
		if mode == shuffleBlocking && e.Pattern == jobgraph.AllToAll && !to.Commit && to.Collect == "" {
			e.Kind = jobgraph.Blocking
		} else if held[i] {
			undecided = append(undecided, i)
		}
	}
	if !newWaits(g, held).cyclic() {
		return nil
	}
	// If all of these edges are blocking, nothing can get stuck. A pipelined edge only adds to what tasks wait for. So one pass that
	// makes each edge pipelined where it can leaves no edge blocking in vain.
	for _, i := range undecided {
		g.Edges[i].Kind = jobgraph.Blocking
	}
	for n := len(undecided) - 1; n >= 0; n-- {
		e := &g.Edges[undecided[n]]
		if e.Kind = jobgraph.Pipelined; !newWaits(g, held).cyclic() {
			continue
		}
		if mode == shufflePipelined {
			return deadlock(g, held, undecided[n])
		}
		e.Kind = jobgraph.Blocking
	}
	return nil
}

// deadlock is the error of an edge that would have to be blocking.
func deadlock(g *jobgraph.JobGraph, held []bool, edge int) error {
	e := g.Edges[edge]
	first := ""
	for i, other := range g.Edges {
		if other.To == e.To && !held[i] {
			first = g.Vertices[other.From].Name
			break
		}
	}
	return fmt.Errorf("%w: %q reads the elements of %q only after all of %q, and these may wait for each other: set the option %s to %s",
		ErrWouldDeadlock, g.Vertices[e.To].Name, g.Vertices[e.From].Name, first, optionShuffleMode, shuffleAutomatic)
}
