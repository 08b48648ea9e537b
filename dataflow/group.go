package dataflow

import (
	"context"
	"fmt"
	"iter"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// GroupFunc is called once for each key, with all elements of the key in any order. An element is valid until the next one is asked
// for. values gives each element once: a second loop goes on where the first one has ended. The function need not read all of them,
// and must not use values after it has returned. Its error fails the attempt; see OperatorError.
type GroupFunc[K, T, U any] func(ctx context.Context, key K, values iter.Seq[T], emit func(U)) error

// GroupByKey calls f for each key of a stream, in the order of the keys' encodings within a subtask. A key may have more elements
// than the worker has memory: what does not fit is sorted in files on the worker's disks.
//
// Use Count, Sum or Reduce where they do: they combine elements before they send them over the network.
func GroupByKey[K, T, U any](k Keyed[K, T], f GroupFunc[K, T, U], o ...Option) Stream[U] {
	p := k.stream.out.node.plan
	set := p.settle("group by key", forStreams, o, f)
	keys, err := k.codec()
	if err != nil {
		p.fault(fmt.Errorf("%s: key: %w", set.name, err))
	}
	values, err := k.stream.codec()
	if err != nil {
		p.fault(fmt.Errorf("%s: %w", set.name, err))
	}
	before := keyedRecords(k, set.name+" (partition)", &keys, &values, byKey)

	n := &node{
		name: set.name, parallelism: set.parallelism, placement: set.placement,
		inputs: []connection{{from: before, exchange: true}},
	}
	n.attach = func(ctx context.Context, c *chain, down any) (any, stage) {
		at := caller{ctx, c, n}
		g := &grouper[K, T, U]{
			caller: at, keys: &keys, group: f, emit: down.(func(U)),
			values: members[T]{sortedInput: sortedInput{caller: at, spilled: c.spillCounter()}, codec: &values},
		}
		return g.values.take, g
	}
	p.add(n)
	return newStream(n, set, codec.For[U])
}

// grouper is the stage behind the exchange. It sorts the elements by key.
type grouper[K, T, U any] struct {
	idle
	caller
	keys   *Codec[K]
	group  GroupFunc[K, T, U]
	emit   func(U)
	values members[T]
}

func (g *grouper[K, T, U]) open() error { return g.values.open(leastMemory) }

// event implements stage.
func (g *grouper[K, T, U]) event(_ int, e operator.Item) error {
	if e != operator.EndOfData {
		return nil
	}
	return g.values.sort()
}

// produce emits what the function makes of one key.
func (g *grouper[K, T, U]) produce() (progress, error) {
	if !g.values.read {
		return done, nil
	}
	key, err := keyOf(g.keys, g.values.key)
	if err != nil {
		return done, g.failed(err)
	}
	g.values.begin(g.values.key)
	err = g.group(g.ctx, key, g.values.elements, g.emit)
	if fault := g.chain.fault(); fault != nil { // of another operator, or a cancellation
		return done, fault
	}
	switch {
	case g.values.err != nil:
		return done, g.failed(g.values.err)
	case err != nil:
		return done, failedAtKey(g.caller, key, err)
	}
	return more, g.failed(g.values.skip())
}

// close removes the files.
func (g *grouper[K, T, U]) close() error { return g.values.close() }
