package dataflow

import (
	"context"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
)

// Aggregator makes one result of the elements of a key, through an accumulator of type A (Flink's AggregateFunction). Its functions
// are called by many goroutines, each with accumulators of its own. They may change their first argument and return it.
//
// The result must not depend on the order of the elements, nor on their division among accumulators. A []byte in an element is
// valid only until Add returns: copy it to keep it.
type Aggregator[T, A, U any] struct {
	// New returns the accumulator of no elements. Nil means the zero value of A.
	New func() A
	// Add adds an element to an accumulator.
	Add func(acc A, v T) A
	// Merge returns the accumulator of the elements of both. b is not used again, so the result may share its memory.
	Merge func(a, b A) A
	// Result makes the result of an accumulator with at least one element.
	Result func(acc A) U
}

// TryAggregator is an Aggregator whose functions may fail. An error fails the attempt; see OperatorError. ctx ends when the attempt
// is cancelled.
type TryAggregator[T, A, U any] struct {
	New    func() A
	Add    func(ctx context.Context, acc A, v T) (A, error)
	Merge  func(ctx context.Context, a, b A) (A, error)
	Result func(ctx context.Context, acc A) (U, error)
}

// Aggregate emits the result of an Aggregator for each key, when the input has ended.
//
//	type mean struct{ Sum, Count float64 }
//
//	means := dataflow.Aggregate(byCity, dataflow.Aggregator[Reading, mean, float64]{
//		Add:    func(m mean, r Reading) mean { return mean{m.Sum + r.Celsius, m.Count + 1} },
//		Merge:  func(a, b mean) mean { return mean{a.Sum + b.Sum, a.Count + b.Count} },
//		Result: func(m mean) float64 { return m.Sum / m.Count },
//	})
//
// Accumulators travel over the network and through files, so their type needs a codec; see codec.For. Like Count, Aggregate
// combines elements before the exchange, and holds the accumulators in memory or in files behind it. The size of an accumulator
// with slices, maps or strings is measured after each element, which takes the longer the more it has. For many values of a key
// use GroupByKey.
func Aggregate[K, T, A, U any](k Keyed[K, T], a Aggregator[T, A, U], o ...Option) Stream[KV[K, U]] {
	return tryAggregate(k, k.settle("aggregate", o), a.try())
}

// TryAggregate is Aggregate with functions that may fail.
func TryAggregate[K, T, A, U any](k Keyed[K, T], a TryAggregator[T, A, U], o ...Option) Stream[KV[K, U]] {
	return tryAggregate(k, k.settle("aggregate", o), a)
}

// try returns the functions of a as functions that do not fail.
func (a Aggregator[T, A, U]) try() (f TryAggregator[T, A, U]) {
	f.New = a.New
	if a.Add != nil {
		f.Add = func(_ context.Context, acc A, v T) (A, error) { return a.Add(acc, v), nil }
	}
	if a.Merge != nil {
		f.Merge = func(_ context.Context, x, y A) (A, error) { return a.Merge(x, y), nil }
	}
	if a.Result != nil {
		f.Result = func(_ context.Context, acc A) (U, error) { return a.Result(acc), nil }
	}
	return f
}

// errNoFunction says that an Aggregator lacks a function.
var errNoFunction = errors.New("its Aggregator needs Add, Merge and Result")

func tryAggregate[K, T, A, U any](k Keyed[K, T], set settings, a TryAggregator[T, A, U]) Stream[KV[K, U]] {
	if a.Add == nil || a.Merge == nil || a.Result == nil {
		k.stream.out.node.plan.fault(fmt.Errorf("%s: %w", set.name, errNoFunction))
	}
	if a.New == nil {
		a.New = func() (none A) { return none }
	}
	return aggregate(k, set, aggregation[K, T, A, KV[K, U]]{
		accumulators: codec.For[A],
		folds:        a.folds,
		emit: func(at caller, down func(KV[K, U])) func(KV[K, A]) {
			return func(kv KV[K, A]) {
				result, err := a.Result(at.ctx, kv.Value)
				if err != nil {
					at.chain.fail(failedAtKey(at, kv.Key, err))
					return
				}
				down(KV[K, U]{Key: kv.Key, Value: result})
			}
		},
		results: func(keys Codec[K], _ Codec[A]) (Codec[KV[K, U]], error) {
			c, err := codec.For[U]()
			return codec.OfKV(keys, c), err
		},
	})
}

func (a TryAggregator[T, A, U]) folds(at caller, c Codec[A]) folds[T, A] {
	return folds[T, A]{
		element: func(acc *A, v T, fresh bool) error {
			if err := at.chain.err; err != nil { // the function that emits elements goes on
				return err
			}
			if fresh {
				*acc = a.New()
			}
			sum, err := a.Add(at.ctx, *acc, v)
			if err != nil {
				return failedAt(at, v, err)
			}
			*acc = sum
			return nil
		},
		partial: func(acc *A, v A, fresh bool) error {
			v, err := c.Owned(v)
			if err != nil {
				return err
			}
			if fresh {
				*acc = v
				return nil
			}
			sum, err := a.Merge(at.ctx, *acc, v)
			if err != nil {
				return err
			}
			*acc = sum
			return nil
		},
	}
}
