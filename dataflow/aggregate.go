package dataflow

import (
	"context"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/keytable"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// combineLimit bounds the table before the exchange, in bytes. The table combines the
// elements of frequent keys. It is fastest at about the size of the processor's cache.
const combineLimit = 4 << 20

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

// combiner is the operator before the exchange. It passes on the content of its
// table when the table is full, and at the end.
type combiner[K, T, A any] struct {
	idle
	caller
	memory *budget
	table  *keytable.Table[A]
	keys   *Codec[K]
	accs   *Codec[A]
	fold   func(*A, T, bool) error
	emit   func(keyedRecord)
	record []byte // scratch
}

// taker returns the function that takes elements. A key that is its own encoding costs no call of keyEncoder: some 2 ns of 48 for
// each word of a word count.
func (b *combiner[K, T, A]) taker(keyOf func(T) K) func(T) {
	if view := b.keys.View; view != nil {
		return func(v T) { b.add(view(keyOf(v)), v) }
	}
	encode := keyEncoder(b.keys, keyOf)
	return func(v T) {
		key, err := encode(v)
		if err != nil {
			b.chain.fail(failedAt(b.caller, v, err))
			return
		}
		b.add(key, v)
	}
}

func (b *combiner[K, T, A]) add(key []byte, v T) {
	acc, fresh := b.table.Upsert(key)
	if acc == nil {
		b.flush()
		if acc, fresh = b.table.Upsert(key); acc == nil { // the key is larger than the whole table
			var single A
			if err := b.fold(&single, v, true); err != nil {
				b.chain.fail(failedAt(b.caller, v, err))
				return
			}
			b.pass(key, single)
			return
		}
	}
	before := held(b.accs, acc, fresh)
	if err := b.fold(acc, v, fresh); err != nil {
		b.chain.fail(failedAt(b.caller, v, err))
	}
	b.table.Charge(held(b.accs, acc, false) - before)
	if b.table.Over() {
		b.flush()
	}
}

// event implements stage.
func (b *combiner[K, T, A]) event(_ int, e operator.Item) error {
	if e == operator.EndOfData {
		b.flush()
		b.table.Release()
		b.memory.NoMore()
	}
	return nil
}

// flush passes on all keys and empties the table.
func (b *combiner[K, T, A]) flush() {
	for i := range b.table.Len() {
		key, acc := b.table.At(i)
		b.pass(key, *acc)
	}
	b.table.Reset()
}

func (b *combiner[K, T, A]) pass(key []byte, acc A) {
	record, err := b.accs.Append(codec.AppendKey(b.record[:0], key), acc)
	if err != nil {
		b.fail(err)
		return
	}
	b.record = record
	b.emit(keyedRecord{xxhash.Sum64(key), record})
}

// held returns the memory that an accumulator refers to, in bytes. It is 0 for a
// fresh accumulator.
func held[A any](c *Codec[A], acc *A, fresh bool) int64 {
	if c.Size == nil || fresh {
		return 0
	}
	return c.Size(*acc)
}
