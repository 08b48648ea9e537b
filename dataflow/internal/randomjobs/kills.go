package randomjobs

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Kill is the loss of a worker: the one that is about to process an element in an operator, after so many others.
type Kill struct {
	Operator string
	After    int
}

// Kills chooses n kills that must happen, because the operators get as many elements; none if no operator gets one. parallelism is that
// of the job.
func (j Job) Kills(random *rand.Rand, n, parallelism int) (kills []Kill) {
	places := j.places(parallelism)
	if len(places) == 0 {
		return nil
	}
	for range n {
		p := places[random.IntN(len(places))]
		kills = append(kills, Kill{p.operator, random.IntN(p.elements)})
	}
	return kills
}

// place is an operator at which a worker can be killed, and how many elements it gets in any case.
type place struct {
	operator string
	elements int
}

// places are the operators that get elements: those of nodes, sinks, and the commits of sinks. A commit gets an element when a subtask of
// the sink has written its part. So a kill there comes between the end of tasks and their commit.
func (j Job) places(parallelism int) (all []place) {
	values, err := j.evaluate()
	if err != nil {
		return nil
	}
	early := j.early()
	for at := range j.Nodes {
		if least := j.Nodes[at].least(values, at); least > 0 && !early[at] {
			all = append(all, place{name(at), least})
		}
	}
	for i, s := range j.Sinks {
		operator, elements := writer(i), len(values[s.Node].main)
		if s.Collect {
			operator = name(s.Node) + sinkSuffix(i)
		} else {
			own, _ := j.sinkParallelism(s.Node)
			all = append(all, place{operator + " (commit)", cmp.Or(own, parallelism)})
		}
		if elements > 0 {
			all = append(all, place{operator, elements})
		}
	}
	return all
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
