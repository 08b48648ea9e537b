package randomjobs

import (
	"math/rand/v2"
	"slices"
)

// Kill is the loss of a worker: the one that is about to process an element in an operator, after so many others.
type Kill struct {
	Operator string
	After    int
}

// Kills chooses up to n kills that must happen, because the operators get as many elements.
func (j Job) Kills(random *rand.Rand, n int) (kills []Kill) {
	all, err := j.evaluate()
	if err != nil {
		return nil
	}
	early := j.early()
	for range n {
		at := random.IntN(len(j.Nodes))
		if least := j.Nodes[at].least(all, at); least > 0 && !early[at] {
			kills = append(kills, Kill{name(at), random.IntN(least)})
		}
	}
	return kills
}

// Elements is a number of elements that the operator of a node gets in any case, and the operator's name.
func (j Job) Elements(at int) (least int, operator string, err error) {
	all, err := j.evaluate()
	if err != nil {
		return 0, "", err
	}
	return j.Nodes[at].least(all, at), name(at), nil
}

// early tells which nodes may end before all of their elements have come, because a limit needs no more.
func (j Job) early() []bool {
	early := make([]bool, len(j.Nodes))
	for at, n := range slices.Backward(j.Nodes) {
		for _, in := range n.Inputs {
			early[in] = early[in] || early[at] || n.Op == OpLimit
		}
	}
	return early
}

// least is a number of elements that the node's operator gets in any case.
func (n *Node) least(all []values, at int) int {
	var in [2][]Record
	for i, input := range n.Inputs {
		in[i] = all[input].main
	}
	switch n.Op {
	case OpSource:
		return len(all[at].main)
	case OpCount, OpSum, OpMin, OpMax, OpAvg, OpReduce, OpAggregate, OpTopN:
		return len(groups(in[0], nil)) // their elements are combined before
	case OpDistinct:
		return len(all[at].main)
	case OpSide: // has no operator of its own
		return 0
	case OpLimit:
		return min(n.N, len(in[0]))
	case OpTopNOfAll: // gets a list of each subtask
		return min(1, len(in[0]))
	case OpJoin, OpLeftJoin, OpRightJoin, OpFullJoin:
		return min(len(in[0]), len(in[1])) // a side that is empty may end the other one
	default:
		return len(in[0])
	}
}
