package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow"
)

var errSeventh = errors.New("a multiple of seven")

// single adds the operators that take elements one by one.
func single(all *results, in dataflow.Stream[Record]) {
	add(all, "map", dataflow.Map(in, func(r Record) Record { return Record{Key: r.Key, Value: 2 * r.Value} }), words)
	add(all, "filter", dataflow.Filter(in, func(r Record) bool { return r.Value%3 == 0 }), words)
	add(all, "flatmap", dataflow.FlatMap(in, func(r Record, emit func(Record)) {
		for range r.Value % 3 {
			emit(r)
		}
	}), words)

	odd := dataflow.NewOutputTag[Record]("odd")
	even := dataflow.FlatMapWith(in, func(s dataflow.Subtask) func(Record, func(Record)) {
		aside := dataflow.Output(s, odd)
		return func(r Record, emit func(Record)) {
			if r.Value%2 == 0 {
				emit(r)
			} else {
				aside(r)
			}
		}
	})
	add(all, "main", even, words)
	add(all, "side", dataflow.SideOutput(even, odd), words)

	sevenths := dataflow.NewOutputTag[dataflow.Rejected[Record]]("sevenths")
	tried := dataflow.TryMap(in, func(_ context.Context, r Record) (Record, error) {
		if r.Value%7 == 0 {
			return r, errSeventh
		}
		return r, nil
	}, dataflow.RejectTo(sevenths))
	add(all, "tried", tried, words)
	add(all, "rejected", dataflow.SideOutput(tried, sevenths), func(r dataflow.Rejected[Record]) string { return words(r.Element) })

	add(all, "rebalance", dataflow.Rebalance(in), words)
	add(all, "broadcast", dataflow.Broadcast(in), words)
	parted := dataflow.Partition(in, func(r Record, channels int) int { return int(r.Value) % channels })
	add(all, "partition", numbered(parted, func(s dataflow.Subtask, _ int, r Record) string { return fmt.Sprint(s.Index(), " ", words(r)) }), dataflow.Identity)
	add(all, "limit", dataflow.Limit(in, 25), words)
	add(all, "distinct", dataflow.Distinct(dataflow.Map(in, key)), dataflow.Identity)
}

// order adds the operators that sort. Their lines name the subtask and the place in its order.
func order(all *results, in dataflow.Stream[Record]) {
	place := func(s dataflow.Subtask, n int, r Record) string {
		return fmt.Sprintf("%d %06d %d", s.Index(), n, r.Value)
	}
	add(all, "sort", numbered(dataflow.Sort(in, value), place), dataflow.Identity)
	add(all, "descending", numbered(dataflow.Sort(in, value, dataflow.Descending()), place), dataflow.Identity)
	add(all, "sorted-partition", numbered(dataflow.SortPartition(in, value), place), dataflow.Identity)
	add(all, "largest", dataflow.TopNOfAll(in, 10, dataflow.By(value)), words)
}

// numbered makes a line of each element, of the subtask and of the number of elements before it there.
func numbered(in dataflow.Stream[Record], line func(s dataflow.Subtask, n int, r Record) string) dataflow.Stream[string] {
	return dataflow.FlatMapWith(in, func(s dataflow.Subtask) func(Record, func(string)) {
		n := 0
		return func(r Record, emit func(string)) {
			emit(line(s, n, r))
			n++
		}
	})
}
