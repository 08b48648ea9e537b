package dataflow

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/keytable"
)

// aggregation is what an operator does with the elements of each key: T are the elements, A the accumulators, R the results.
type aggregation[K, T, A, R any] struct {
	accumulators func() (Codec[A], error)
	// folds makes the functions that add to an accumulator, for one subtask.
	folds func(caller, Codec[A]) folds[T, A]
	// emit makes the function that turns a key's accumulator into results, for one subtask.
	emit    func(at caller, down func(R)) func(KV[K, A])
	results func(Codec[K], Codec[A]) (Codec[R], error)
}

// folds holds the functions that add to the accumulator of a key. A fresh
// accumulator is zero.
type folds[T, A any] struct {
	element func(acc *A, v T, fresh bool) error
	partial func(acc *A, v A, fresh bool) error // v is the accumulator of another subtask, and may share memory with a record
}

// asPairs is an aggregation whose results are the accumulators with their keys.
func asPairs[K, T, A any](accumulators func() (Codec[A], error), newFolds func(caller, Codec[A]) folds[T, A]) aggregation[K, T, A, KV[K, A]] {
	return aggregation[K, T, A, KV[K, A]]{
		accumulators: accumulators,
		folds:        newFolds,
		emit:         func(_ caller, down func(KV[K, A])) func(KV[K, A]) { return down },
		results:      func(keys Codec[K], accs Codec[A]) (Codec[KV[K, A]], error) { return codec.OfKV(keys, accs), nil },
	}
}

// aggregate adds the two operators of an aggregation. The first one combines
// elements before the exchange, in the goroutine of its input. The second one
// merges the results behind the exchange.
func aggregate[K, T, A, R any](k Keyed[K, T], set settings, a aggregation[K, T, A, R]) Stream[R] {
	upstream := k.stream.out.node
	p := upstream.plan
	keys, err := k.codec()
	if err != nil {
		p.fault(fmt.Errorf("%s: key: %w", set.name, err))
	}
	accs, err := a.accumulators()
	if err != nil {
		p.fault(fmt.Errorf("%s: %w", set.name, err))
	}

	before := &node{
		name: set.name + " (combine)", parallelism: upstream.parallelism,
		inputs: []connection{{from: k.stream.out}},
	}
	before.attach = func(ctx context.Context, c *chain, down any) (any, stage) {
		at := caller{ctx, c, before}
		memory := c.newBudget(leastMemory, combineLimit)
		b := &combiner[K, T, A]{
			caller: at, memory: memory, table: keytable.New[A](memory),
			keys: &keys, accs: &accs, fold: a.folds(at, accs).element, emit: down.(func(keyedRecord)),
		}
		return b.taker(k.key), b
	}
	p.add(before)
	before.out = keyedPort(before, codec.OfKV(keys, accs).Name)

	after := &node{
		name: set.name, parallelism: set.parallelism, placement: set.placement,
		inputs: []connection{{from: before.out, exchange: true}},
	}
	after.attach = func(ctx context.Context, c *chain, down any) (any, stage) {
		at := caller{ctx, c, after}
		memory := c.newBudget(leastMemory, 0)
		m := &merger[K, A]{
			caller: at, memory: memory, table: keytable.New[A](memory), keys: &keys, accs: &accs,
			fold: a.folds(at, accs).partial, emit: a.emit(at, down.(func(R))), spilled: c.spillCounter(),
		}
		return m.add, m
	}
	p.add(after)
	return newStream(after, set, func() (Codec[R], error) { return a.results(keys, accs) })
}

// held returns the memory that an accumulator refers to, in bytes. It is 0 for a
// fresh accumulator.
func held[A any](c *Codec[A], acc *A, fresh bool) int64 {
	if c.Size == nil || fresh {
		return 0
	}
	return c.Size(*acc)
}
