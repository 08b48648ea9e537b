package randomjobs

import (
	"context"
	"iter"

	"github.com/bobbin-yarn/bobbin/dataflow"
)

// by groups a stream by its key.
func by[T, K any](t typed[T], k keys[K]) dataflow.Keyed[K, T] {
	return dataflow.KeyBy(t.Stream, func(v T) K { return k.of(t.from(v).K) })
}

// keyed adds an operator with a key of type K.
func keyed[T, K any](n *placed, t typed[T], other stream, k keys[K]) stream {
	switch n.Op {
	case OpGroup:
		return t.of(grouping(n, t, k))
	case OpCoGroup, OpJoin, OpLeftJoin, OpRightJoin, OpFullJoin:
		if right, same := other.(typed[flat]); same {
			return both(n, t, right, k)
		}
		return both(n, t, other.(typed[T]), k)
	default:
		return t.of(aggregated(n, t, k))
	}
}

// results makes elements of the results of an aggregation.
func results[T, K, R any](n *placed, t typed[T], k keys[K], in dataflow.Stream[dataflow.KV[K, R]], of func(key int64, v R) Record) dataflow.Stream[T] {
	return dataflow.Map(in, func(r dataflow.KV[K, R]) T { return t.to(of(k.back(r.Key), r.Value)) }, n.named(" out")...)
}

// aggregated adds an operator that combines elements before the exchange.
func aggregated[T, K any](n *placed, t typed[T], k keys[K]) dataflow.Stream[T] {
	in, options := by(t, k), n.options()
	number := func(v T) int64 { return t.from(v).N }
	total := func(key, v int64) Record { return Record{K: key, N: v} }
	switch n.Op {
	case OpCount:
		return results(n, t, k, dataflow.Count(in, options...), total)
	case OpSum:
		return results(n, t, k, dataflow.Sum(in, number, options...), total)
	case OpMin:
		return results(n, t, k, dataflow.Min(in, number, options...), func(key int64, v T) Record { return total(key, number(v)) })
	case OpMax:
		return results(n, t, k, dataflow.Max(in, func(v T) string { return t.from(v).text() }, options...), func(key int64, v T) Record {
			r := t.from(v)
			return Record{key, r.N, r.S}
		})
	case OpAvg:
		return results(n, t, k, dataflow.Avg(in, number, options...), ofMean)
	case OpReduce:
		return results(n, t, k, dataflow.Reduce(in, func(a, b T) T { return t.to(combined(t.take(a), t.from(b))) }, options...), func(key int64, v T) Record {
			r := t.from(v)
			return Record{key, r.N, r.S}
		})
	case OpAggregate:
		return results(n, t, k, dataflow.Aggregate(in, dataflow.Aggregator[T, summary, *summary]{
			Add:    func(s summary, v T) summary { return s.add(t.from(v)) },
			Merge:  summary.merge,
			Result: func(s summary) *summary { return &s },
		}, options...), func(key int64, s *summary) Record { return s.record(key) })
	default: // OpTopN
		return dataflow.FlatMap(dataflow.TopN(in, n.N, t.compare, options...), func(r dataflow.KV[K, []T], emit func(T)) {
			for rank, v := range r.Value {
				emit(t.to(ranked(k.back(r.Key), rank, t.from(v))))
			}
		}, n.named(" out")...)
	}
}

// summarized reads a group.
func (s *shape[T]) summarized(all iter.Seq[T]) (sum summary) {
	for v := range all {
		sum = sum.add(s.take(v))
	}
	return sum
}

func grouping[T, K any](n *placed, t typed[T], k keys[K]) dataflow.Stream[T] {
	return dataflow.GroupByKey(by(t, k), func(_ context.Context, key K, all iter.Seq[T], emit func(T)) error {
		emit(t.to(t.summarized(all).record(k.back(key))))
		return nil
	}, n.options()...)
}

// both adds an operator with two inputs.
func both[A, B, K any](n *placed, a typed[A], b typed[B], k keys[K]) stream {
	left, right, options := by(a, k), by(b, k), n.options()
	if n.Hint != 0 {
		options = append(options, dataflow.Hint(dataflow.JoinHint(n.Hint)))
	}
	emitted := func(l *A, r *B, emit func(A)) {
		var records [2]*Record
		if l != nil {
			record := a.from(*l)
			records[0] = &record
		}
		if r != nil {
			record := b.from(*r)
			records[1] = &record
		}
		emit(a.to(joined(records[0], records[1])))
	}
	switch n.Op {
	case OpJoin:
		return a.of(dataflow.Join(left, right, func(l A, r B, emit func(A)) { emitted(&l, &r, emit) }, options...))
	case OpLeftJoin:
		return a.of(dataflow.LeftJoin(left, right, func(l A, r *B, emit func(A)) { emitted(&l, r, emit) }, options...))
	case OpRightJoin:
		return a.of(dataflow.RightJoin(left, right, func(l *A, r B, emit func(A)) { emitted(l, &r, emit) }, options...))
	case OpFullJoin:
		return a.of(dataflow.FullJoin(left, right, emitted, options...))
	default: // OpCoGroup
		return a.of(dataflow.CoGroup(left, right, func(_ context.Context, key K, ls iter.Seq[A], rs iter.Seq[B], emit func(A)) error {
			var l, r summary
			if n.Salt%2 == 0 { // the right side first
				r = b.summarized(rs)
			}
			l = a.summarized(ls)
			for v := range rs {
				r = r.add(b.from(v))
			}
			emit(a.to(ofBoth(k.back(key), l, r)))
			return nil
		}, options...))
	}
}
