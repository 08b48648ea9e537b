package main

import (
	"context"
	"fmt"
	"iter"

	"github.com/bobbin-yarn/bobbin/dataflow"
)

// summary is the number of some records, and their sum.
type summary struct{ N, Sum int64 }

func (s summary) add(r Record) summary { return summary{s.N + 1, s.Sum + r.Value} }

func (s summary) merge(other summary) summary { return summary{s.N + other.N, s.Sum + other.Sum} }

func (s summary) String() string { return fmt.Sprint(s.N, " ", s.Sum) }

func summarized(records iter.Seq[Record]) (s summary) {
	for r := range records {
		s = s.add(r)
	}
	return s
}

// aggregations adds the operators that make one result of a key.
func aggregations(all *results, in dataflow.Keyed[string, Record]) {
	addKeyed(all, "count", dataflow.Count(in))
	addKeyed(all, "sum", dataflow.Sum(in, value))
	addKeyed(all, "min", dataflow.Min(in, value))
	addKeyed(all, "max", dataflow.Max(in, value))
	addKeyed(all, "avg", dataflow.Avg(in, value))
	addKeyed(all, "reduce", dataflow.Reduce(in, func(a, b Record) Record { return Record{Key: max(a.Key, b.Key), Value: a.Value + b.Value} }))
	addKeyed(all, "aggregate", dataflow.Aggregate(in, dataflow.Aggregator[Record, summary, string]{
		Add: summary.add, Merge: summary.merge, Result: summary.String,
	}))
	addKeyed(all, "top", dataflow.TopN(in, 3, dataflow.By(value)))
	add(all, "group", dataflow.GroupByKey(in, func(_ context.Context, key string, records iter.Seq[Record], emit func(string)) error {
		emit(fmt.Sprint(key, " ", summarized(records)))
		return nil
	}), dataflow.Identity)
}

func addKeyed[V any](all *results, name string, in dataflow.Stream[dataflow.KV[string, V]]) {
	add(all, name, in, func(kv dataflow.KV[string, V]) string { return fmt.Sprint(kv.Key, " ", kv.Value) })
}

// pairs adds the operators with two inputs.
func pairs(all *results, left, right dataflow.Stream[Record]) {
	l, r := dataflow.KeyBy(left, key), dataflow.KeyBy(right, key)
	for _, hint := range []dataflow.JoinHint{dataflow.BroadcastLeft, dataflow.BroadcastRight, dataflow.HashLeft, dataflow.HashRight, dataflow.SortMerge} {
		add(all, fmt.Sprint("join-", int(hint)), dataflow.Join(l, r, func(a, b Record, emit func(string)) { emit(pair(&a, &b)) }, dataflow.Hint(hint)), dataflow.Identity)
	}
	add(all, "left-join", dataflow.LeftJoin(l, r, func(a Record, b *Record, emit func(string)) { emit(pair(&a, b)) }), dataflow.Identity)
	add(all, "right-join", dataflow.RightJoin(l, r, func(a *Record, b Record, emit func(string)) { emit(pair(a, &b)) }), dataflow.Identity)
	add(all, "full-join", dataflow.FullJoin(l, r, func(a, b *Record, emit func(string)) { emit(pair(a, b)) }), dataflow.Identity)
	add(all, "cogroup", dataflow.CoGroup(l, r, func(_ context.Context, key string, a, b iter.Seq[Record], emit func(string)) error {
		emit(fmt.Sprint(key, " ", summarized(a), " ", summarized(b)))
		return nil
	}), dataflow.Identity)
	add(all, "with-list", dataflow.ProcessWithBroadcast(left, right, func(_ dataflow.Subtask, list []Record) (dataflow.Function[Record, string], error) {
		var s summary
		for _, r := range list {
			s = s.add(r)
		}
		return dataflow.Function[Record, string]{Process: func(_ context.Context, r Record, emit func(string)) error {
			emit(fmt.Sprint(words(r), " ", s))
			return nil
		}}, nil
	}), dataflow.Identity)
}

// pair is the line of two joined records, of which one may be missing.
func pair(a, b *Record) string {
	text := func(r *Record) string {
		if r == nil {
			return "-"
		}
		return words(*r)
	}
	return text(a) + " " + text(b)
}
