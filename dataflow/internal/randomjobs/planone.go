package randomjobs

import (
	"context"

	"github.com/bobbin-yarn/bobbin/dataflow"
)

// apply implements stream.
func (t typed[T]) apply(b *builder, n *placed, other stream) stream {
	switch n.Op {
	case OpMap, OpFilter, OpFlatMap, OpProcess:
		return t.of(t.each(n))
	case OpTry, OpSplit:
		return t.sided(b, n)
	case OpSort, OpSortPartition:
		return t.of(t.sorted(n))
	case OpUnion, OpRebalance, OpPartition, OpBroadcast, OpLimit, OpDistinct, OpTopNOfAll:
		return t.of(t.moved(n, other))
	case OpBroadcastList:
		return t.withList(n, other)
	default:
		return t.keyed(n, other)
	}
}

// keyed adds an operator with a key.
func (t typed[T]) keyed(n *placed, other stream) stream {
	switch n.Key {
	case "int64":
		return keyed(n, t, other, intKeys)
	case "string":
		return keyed(n, t, other, textKeys)
	case "[]byte":
		return keyed(n, t, other, byteKeys)
	case longText:
		return keyed(n, t, other, longKeys)
	default:
		return keyed(n, t, other, pairKeys)
	}
}

// each adds an operator that takes elements one by one.
func (t typed[T]) each(n *placed) dataflow.Stream[T] {
	salt, options := n.Salt, n.options()
	switch n.Op {
	case OpMap:
		return dataflow.Map(t.Stream, func(v T) T { return t.to(mapped(t.take(v), salt)) }, options...)
	case OpFilter:
		return dataflow.Filter(t.Stream, func(v T) bool { return kept(t.from(v), salt) }, options...)
	case OpFlatMap:
		return dataflow.FlatMap(t.Stream, func(v T, emit func(T)) {
			for _, r := range flattened(t.take(v), salt) {
				emit(t.to(r))
			}
		}, options...)
	default:
		return t.held(n)
	}
}

// held adds an operator that holds an element back until the next one, or the end.
func (t typed[T]) held(n *placed) dataflow.Stream[T] {
	return dataflow.Process(t.Stream, func(dataflow.Subtask) dataflow.Function[T, T] {
		held := make([]Record, 0, 1) // the last element
		release := func(emit func(T)) {
			for _, r := range held {
				emit(t.to(r))
			}
			held = held[:0]
		}
		return dataflow.Function[T, T]{
			Process: func(_ context.Context, v T, emit func(T)) error {
				release(emit)
				held = append(held, t.take(v))
				return nil
			},
			Finish: func(_ context.Context, emit func(T)) error {
				release(emit)
				return nil
			},
		}
	}, n.options()...)
}

// sided adds an operator with a side output.
func (t typed[T]) sided(b *builder, n *placed) stream {
	salt := n.Salt
	if n.Op == OpSplit {
		out := dataflow.FlatMapWith(t.Stream, func(s dataflow.Subtask) func(T, func(T)) {
			aside := dataflow.Output(s, t.side)
			return func(v T, emit func(T)) {
				r := t.take(v)
				toMain, toSide := split(r, salt)
				if toMain {
					emit(t.to(r))
				}
				if toSide {
					aside(t.to(r))
				}
			}
		}, n.options()...)
		b.sides[n.at] = t.of(dataflow.SideOutput(out, t.side))
		return t.of(out)
	}
	out := dataflow.TryMap(t.Stream, func(_ context.Context, v T) (T, error) {
		r, err := tried(t.from(v), salt)
		return t.to(r), err
	}, n.options(dataflow.RejectTo(t.rejected))...)
	b.sides[n.at] = t.of(dataflow.Map(dataflow.SideOutput(out, t.rejected), func(r dataflow.Rejected[T]) T {
		return t.to(ofRejected(t.from(r.Element), r.Reason))
	}, dataflow.Named(name(n.at)+" rejected")))
	return t.of(out)
}

// sorted adds a sort.
func (t typed[T]) sorted(n *placed) dataflow.Stream[T] {
	key := func(v T) int64 { return sortKey(t.from(v)) }
	var more []dataflow.Option
	if n.Descending {
		more = append(more, dataflow.Descending())
	}
	if n.Op == OpSort {
		return dataflow.Sort(t.Stream, key, n.options(more...)...)
	}
	return dataflow.SortPartition(t.Stream, key, append(more, dataflow.Named(name(n.at)))...)
}

// moved adds an operator that takes elements as they are.
func (t typed[T]) moved(n *placed, other stream) dataflow.Stream[T] {
	same := func(v T) T { return t.to(t.take(v)) }
	switch n.Op {
	case OpUnion:
		return dataflow.UnionWith(t.Stream, []dataflow.Stream[T]{other.(typed[T]).Stream}, n.options()...)
	case OpRebalance:
		return dataflow.Rebalance(t.Stream, n.options()...)
	case OpPartition:
		return dataflow.Partition(t.Stream, func(v T, channels int) int { return channel(t.from(v), n.Salt, channels) }, n.options()...)
	case OpBroadcast:
		return dataflow.Map(dataflow.Broadcast(t.Stream), same, dataflow.Named(name(n.at)), dataflow.Parallelism(n.N))
	case OpLimit:
		return dataflow.Map(dataflow.Limit(t.Stream, n.N, n.options()...), func(T) T { return t.to(limited()) }, n.named(" out")...)
	case OpDistinct:
		return dataflow.Distinct(t.Stream, n.options()...)
	default:
		return dataflow.TopNOfAll(t.Stream, n.N, t.compare, n.options()...)
	}
}

func (s *shape[T]) compare(a, b T) int { return compare(s.from(a), s.from(b)) }

// withList adds an operator with a broadcast list of any shape.
func (t typed[T]) withList(n *placed, list stream) stream {
	if flats, same := list.(typed[flat]); same {
		return listed(n, t, flats)
	}
	return listed(n, t, list.(typed[T]))
}

func listed[T, B any](n *placed, t typed[T], list typed[B]) stream {
	return t.of(dataflow.ProcessWithBroadcast(t.Stream, list.Stream, func(_ dataflow.Subtask, all []B) (dataflow.Function[T, T], error) {
		var s summary
		for _, v := range all {
			s = s.add(list.from(v))
		}
		return dataflow.Function[T, T]{Process: func(_ context.Context, v T, emit func(T)) error {
			emit(t.to(withList(t.take(v), s)))
			return nil
		}}, nil
	}, n.options()...))
}
