package randomjobs

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
)

// Bounds of what a node emits.
const (
	maxRecords = 8_000
	maxBytes   = 4 << 20
	maxPairs   = 50_000   // of a join
	maxPaired  = 16 << 20 // bytes that the function of a join reads, which gets an element once for each partner
	maxState   = 50 << 10 // bytes that an operator must hold in memory; nested elements take several times as much there
)

// errTooMuch says that a node emits more than the bounds.
var errTooMuch = errors.New("the job has too many elements")

// values are the elements that a node emits, in no order.
type values struct{ main, side []Record }

// evaluate computes the elements of all nodes.
func (j Job) evaluate() ([]values, error) {
	all := make([]values, 0, len(j.Nodes))
	for i := range j.Nodes {
		v, err := j.Nodes[i].evaluate(all)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name(i), err)
		}
		all = append(all, v)
	}
	return all, nil
}

// evaluate computes the elements of a node from those of the nodes before it.
func (n *Node) evaluate(before []values) (v values, err error) {
	var in [2][]Record
	for i, input := range n.Inputs {
		in[i] = before[input].main
	}
	switch n.Op {
	case OpSource:
		v.main = n.Input.records(n.Salt)
	case OpSide:
		v.main = before[n.Inputs[0]].side
	case OpJoin, OpLeftJoin, OpRightJoin, OpFullJoin:
		v.main, err = n.join(in[0], in[1])
	case OpCoGroup, OpCount, OpSum, OpMin, OpMax, OpAvg, OpReduce, OpAggregate, OpTopN, OpGroup:
		v.main = n.keyed(in[0], in[1])
	case OpUnion, OpBroadcast, OpBroadcastList, OpLimit, OpDistinct, OpTopNOfAll:
		v.main = n.whole(in[0], in[1])
	default:
		for _, r := range in[0] {
			n.one(r, &v)
		}
	}
	if err != nil {
		return v, err
	}
	for _, list := range [][]Record{v.main, v.side} {
		for i := range list {
			list[i] = shapes[n.Shape].normal(list[i])
		}
	}
	return v, nil
}

// tooLarge tells whether a node emits or holds too much for a test of many jobs.
func (n *Node) tooLarge(before []values, v values) bool {
	for _, list := range [][]Record{v.main, v.side} {
		if len(list) > maxRecords || size(list) > maxBytes {
			return true
		}
	}
	var in [2][]Record
	for i, input := range n.Inputs {
		in[i] = before[input].main
	}
	return n.needs(in[0], in[1]) > maxState
}

// needs is about the memory, in bytes, that the operator cannot do without: for a list, or the accumulator of a key.
func (n *Node) needs(in, other []Record) int {
	switch n.Op {
	case OpBroadcastList:
		return size(other)
	case OpMin, OpMax, OpReduce, OpAggregate, OpTopN, OpDistinct, OpTopNOfAll:
		if len(in) == 0 {
			return 0
		}
		longest := slices.MaxFunc(in, func(a, b Record) int { return len(a.S) - len(b.S) })
		return max(1, n.N) * size([]Record{longest})
	default:
		return 0
	}
}

// size is about the bytes of the elements.
func size(list []Record) (bytes int) {
	for _, r := range list {
		bytes += len(r.S) + 50
	}
	return bytes
}

// one computes the elements for one element.
func (n *Node) one(r Record, v *values) {
	switch n.Op {
	case OpMap:
		v.main = append(v.main, mapped(r, n.Salt))
	case OpFilter:
		if kept(r, n.Salt) {
			v.main = append(v.main, r)
		}
	case OpFlatMap:
		v.main = append(v.main, flattened(r, n.Salt)...)
	case OpTry:
		if done, err := tried(r, n.Salt); err != nil {
			v.side = append(v.side, ofRejected(r, err.Error()))
		} else {
			v.main = append(v.main, done)
		}
	case OpSplit:
		main, side := split(r, n.Salt)
		if main {
			v.main = append(v.main, r)
		}
		if side {
			v.side = append(v.side, r)
		}
	case OpConvert, OpProcess, OpRebalance, OpPartition, OpSort, OpSortPartition:
		v.main = append(v.main, r)
	default:
		panic("randomjobs: no evaluation of " + n.Op)
	}
}

// whole computes the elements of an operator that needs all elements.
func (n *Node) whole(in, other []Record) (out []Record) {
	switch n.Op {
	case OpUnion:
		return slices.Concat(in, other)
	case OpBroadcast:
		return slices.Repeat(in, n.N)
	case OpBroadcastList:
		list := summarize(other)
		for _, r := range in {
			out = append(out, withList(r, list))
		}
	case OpLimit:
		return slices.Repeat([]Record{limited()}, min(n.N, len(in)))
	case OpDistinct:
		seen := map[Record]bool{}
		for _, r := range in {
			if !seen[r] {
				seen[r] = true
				out = append(out, r)
			}
		}
	default: // OpTopNOfAll
		return largest(in, n.N)
	}
	return out
}

// largest returns the n largest records, the largest first.
func largest(in []Record, n int) []Record {
	sorted := slices.SortedFunc(slices.Values(in), func(a, b Record) int { return compare(b, a) })
	return sorted[:min(n, len(sorted))]
}

func summarize(in []Record) (s summary) {
	for _, r := range in {
		s = s.add(r)
	}
	return s
}

// group are the elements of both inputs with the same key.
type group struct{ left, right []Record }

func groups(left, right []Record) map[int64]*group {
	all := map[int64]*group{}
	of := func(k int64) *group {
		if all[k] == nil {
			all[k] = new(group)
		}
		return all[k]
	}
	for _, r := range left {
		of(r.K).left = append(of(r.K).left, r)
	}
	for _, r := range right {
		of(r.K).right = append(of(r.K).right, r)
	}
	return all
}

// keyed computes the elements of an operator with a key.
func (n *Node) keyed(left, right []Record) (out []Record) {
	for key, g := range groups(left, right) {
		s := summarize(g.left)
		switch n.Op {
		case OpCount:
			out = append(out, Record{K: key, N: s.Count})
		case OpSum:
			out = append(out, Record{K: key, N: s.Sum})
		case OpMin:
			out = append(out, Record{K: key, N: slices.MinFunc(g.left, compare).N})
		case OpMax:
			text := slices.MaxFunc(g.left, func(a, b Record) int { return compare(Record{S: a.text()}, Record{S: b.text()}) })
			out = append(out, Record{key, text.N, text.S})
		case OpAvg:
			mean, _ := new(big.Rat).SetFrac64(s.Sum, s.Count).Float64()
			out = append(out, ofMean(key, mean))
		case OpReduce:
			one := g.left[0]
			for _, r := range g.left[1:] {
				one = shapes[n.Shape].normal(combined(one, r))
			}
			out = append(out, Record{key, one.N, one.S})
		case OpAggregate, OpGroup:
			out = append(out, s.record(key))
		case OpTopN:
			for rank, r := range largest(g.left, n.N) {
				out = append(out, ranked(key, rank, r))
			}
		default: // OpCoGroup
			out = append(out, ofBoth(key, s, summarize(g.right)))
		}
	}
	return out
}

// ofMean is a record that has each bit of a mean.
func ofMean(key int64, mean float64) Record {
	return Record{K: key, N: int64(math.Float64bits(mean) >> 2)}
}

// join computes the pairs of a join.
func (n *Node) join(left, right []Record) (out []Record, err error) {
	all := groups(left, right)
	pairs, read := 0, 0
	for _, g := range all {
		pairs += len(g.left) * len(g.right)
		if read += size(g.left)*len(g.right) + size(g.right)*len(g.left); pairs > maxPairs || read > maxPaired {
			return nil, errTooMuch
		}
	}
	for _, g := range all {
		for i := range g.left {
			for k := range g.right {
				out = append(out, joined(&g.left[i], &g.right[k]))
			}
			if len(g.right) == 0 && (n.Op == OpLeftJoin || n.Op == OpFullJoin) {
				out = append(out, joined(&g.left[i], nil))
			}
		}
		for k := range g.right {
			if len(g.left) == 0 && (n.Op == OpRightJoin || n.Op == OpFullJoin) {
				out = append(out, joined(nil, &g.right[k]))
			}
		}
	}
	return out, nil
}
