package dataflow

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
)

// optionShuffleMode is Flink's option for the kinds of edges.
const optionShuffleMode = "execution.batch-shuffle-mode"

// optionSpeculative is Flink's option for further attempts of slow tasks, which only tasks with blocking edges can have.
const optionSpeculative = "execution.batch.speculative.enabled"

// shuffleMode is a value of optionShuffleMode, or shuffleSpeculative.
type shuffleMode string

// The values of optionShuffleMode. The first one is the default, and Flink does not have it.
const (
	shuffleAutomatic shuffleMode = "AUTOMATIC"
	shufflePipelined shuffleMode = "ALL_EXCHANGES_PIPELINED"
	shuffleBlocking  shuffleMode = "ALL_EXCHANGES_BLOCKING"
	// shuffleSpeculative is shuffleAutomatic with optionSpeculative: all-to-all edges are blocking, unless co-locations forbid that.
	shuffleSpeculative shuffleMode = "AUTOMATIC, speculative"
)

// ErrWouldDeadlock says that a plan could wait for itself if all of its edges were pipelined.
var ErrWouldDeadlock = errors.New("the job could wait for itself forever")

// shuffleModeOf reads the options.
func shuffleModeOf(config map[string]string) (shuffleMode, error) {
	speculative, err := boolOption(config, optionSpeculative)
	if err != nil {
		return "", err
	}
	text, set := config[optionShuffleMode]
	if !set {
		text = string(shuffleAutomatic)
	}
	for _, mode := range []shuffleMode{shuffleAutomatic, shufflePipelined, shuffleBlocking} {
		if !strings.EqualFold(text, string(mode)) {
			continue
		}
		if mode == shuffleAutomatic && speculative {
			return shuffleSpeculative, nil
		}
		return mode, nil
	}
	return "", fmt.Errorf("option %s: %q is none of %s, %s and %s",
		optionShuffleMode, text, shuffleAutomatic, shufflePipelined, shuffleBlocking)
}

// setKinds decides which edges of a graph are blocking. In ALL_EXCHANGES_BLOCKING these are the all-to-all edges. In each mode, an
// edge whose consumer holds it back is blocking where the job could otherwise wait for itself. held says which edges these are.
func setKinds(g *jobgraph.JobGraph, held []bool, mode shuffleMode) error {
	switch mode {
	case shuffleBlocking:
		if err := g.BlockExchanges(); err != nil {
			return err
		}
		explain(g, fmt.Sprintf("the option %s is %s", optionShuffleMode, mode))
	case shuffleSpeculative:
		if blocking, err := g.WithBlockingExchanges(); err == nil {
			g.Edges = blocking.Edges
			explain(g, fmt.Sprintf("the option %s is true, and a task with pipelined edges has one attempt at a time", optionSpeculative))
		}
	case shuffleAutomatic, shufflePipelined:
	}
	if err := breakWaits(g, held, mode); err != nil {
		return err
	}
	err := g.SettleKinds()
	explain(g, "its consumer runs later, because another edge on the way there is blocking")
	return err
}

// breakWaits makes held edges blocking so that no task waits for itself.
func breakWaits(g *jobgraph.JobGraph, held []bool, mode shuffleMode) error {
	if !newWaits(g, held).cyclic() {
		return nil
	}
	// If all held edges are blocking, nothing can get stuck. A pipelined edge only adds to what tasks wait for. So one pass that
	// makes each edge pipelined where it can leaves no edge blocking in vain.
	var undecided []int
	for i := range g.Edges {
		if held[i] && g.Edges[i].Kind == jobgraph.Pipelined {
			undecided = append(undecided, i)
			g.Edges[i].Kind = jobgraph.Blocking
		}
	}
	for _, i := range slices.Backward(undecided) {
		e := &g.Edges[i]
		if e.Kind = jobgraph.Pipelined; !newWaits(g, held).cyclic() {
			continue
		}
		why := shorter(waitReason(g, held, i), jobgraph.MaxWhy)
		if mode == shufflePipelined {
			return fmt.Errorf("%w: the edge from %q must not be pipelined: %s: set the option %s to %s",
				ErrWouldDeadlock, lastOperator(g, e.From), why, optionShuffleMode, shuffleAutomatic)
		}
		e.Kind, e.Why = jobgraph.Blocking, why
	}
	return nil
}
