package dataflow

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	joins "github.com/bobbin-yarn/bobbin/dataflow/internal/join"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/spill"
)

// The two sides of a join, as its inputs are numbered.
const (
	leftSide = iota
	rightSide
)

// outer says for each side whether its elements without a partner are part of the result.
type outer [2]bool

var (
	inner      = outer{}
	leftOuter  = outer{leftSide: true}
	rightOuter = outer{rightSide: true}
	fullOuter  = outer{true, true}
)

func (o outer) String() string {
	switch o {
	case leftOuter:
		return "left join"
	case rightOuter:
		return "right join"
	case fullOuter:
		return "full join"
	default:
		return "join"
	}
}

// broadcasts returns the side that a hint sends to all subtasks.
func (h JoinHint) broadcasts() (side int, is bool) {
	return int(h - BroadcastLeft), h == BroadcastLeft || h == BroadcastRight
}

// builds returns the side that is in the hash table; there is none if both are sorted.
func (h JoinHint) builds() (side int, is bool) {
	switch h {
	case BroadcastLeft, HashLeft:
		return leftSide, true
	case BroadcastRight, HashRight:
		return rightSide, true
	default:
		return 0, false
	}
}

// join adds the operators of a join: one for each side, in the goroutine of its input, and one behind the exchange. f calls given,
// which is one of the user.
func join[K, A, B, U any](
	left Keyed[K, A], right Keyed[K, B], kind outer, o []Option, given any, f func(context.Context, *A, *B, func(U)) error,
) Stream[U] {
	p := left.stream.out.node.plan
	set := p.settle(kind.String(), forStreams|optionHint, o, given)
	keys, lefts, rights := codecsOf(p, set.name, left, right)
	hint, note := set.hint, set.hint.String()+", by hint"
	if hint < 0 || hint > SortMerge {
		p.fault(fmt.Errorf("%s: option Hint: there is no hint %d: use one of the constants, such as HashLeft", set.name, hint))
	}
	if hint == 0 {
		hint, note = p.choices.join(kind, left.stream.out.node, right.stream.out.node)
	}
	bySize := set.hint == 0
	routes, connected := [2]route{}, [2]connection{{exchange: true, bySize: bySize}, {exchange: true, bySize: bySize}}
	if side, is := hint.broadcasts(); is {
		if kind[side] {
			p.fault(fmt.Errorf("%s: option Hint: no subtask could tell which elements of the broadcast side have no partner: broadcast the other side, or use a hash join", set.name))
		}
		routes[side], routes[1-side] = toAll, forward
		// A choice by size leaves the graph as it is, so that a driver that runs again finds its job whatever the sizes are by then.
		connected[1-side].exchange = bySize
	}
	build, hashed := hint.builds()
	if hashed {
		connected[1-build].held = true
	}
	connected[leftSide].from = keyedRecords(left, set.name+" (left)", keys, lefts, routes[leftSide])
	connected[rightSide].from = keyedRecords(right, set.name+" (right)", keys, rights, routes[rightSide])

	n := &node{
		name: set.name, parallelism: set.parallelism, placement: set.placement, note: note, inputs: connected[:],
	}
	n.attach = func(ctx context.Context, c *chain, down any) (any, stage) {
		j := &joiner[A, B, U]{
			caller: caller{ctx, c, n}, build: build, hashed: hashed, pair: f, emit: down.(func(U)),
			left: partner[A]{codec: lefts}, right: partner[B]{codec: rights}, spilled: c.spillCounter(),
		}
		j.config = joins.Config{
			Budget: c.newBudget(leastMemory, 0), Output: j, Outer: [2]bool{joins.Build: kind[build], joins.Probe: kind[1-build]},
			Dirs: spill.NewDirs(spill.OS{}, spill.S2, c.localDirs()...),
		}
		return heads{j.taker(leftSide), j.taker(rightSide)}, j
	}
	p.add(n)
	return newStream(n, set, codec.For[U])
}

// codecsOf returns the codecs of two keyed streams, and reports mistakes to the plan.
func codecsOf[K, A, B any](p *Plan, name string, left Keyed[K, A], right Keyed[K, B]) (*Codec[K], *Codec[A], *Codec[B]) {
	keys, err := left.codec()
	others, otherErr := right.codec()
	switch {
	case err != nil:
		p.fault(fmt.Errorf("%s: key: %w", name, err))
	case otherErr != nil:
		p.fault(fmt.Errorf("%s: key: %w", name, otherErr))
	case keys.Name != others.Name:
		p.fault(fmt.Errorf("%s: the keys of its two sides have different codecs, %q and %q: use the same WithCodec for both", name, keys.Name, others.Name))
	}
	lefts, err := left.stream.codec()
	if err != nil {
		p.fault(fmt.Errorf("%s: left: %w", name, err))
	}
	rights, err := right.stream.codec()
	if err != nil {
		p.fault(fmt.Errorf("%s: right: %w", name, err))
	}
	return &keys, &lefts, &rights
}
