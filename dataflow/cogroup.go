package dataflow

import (
	"bytes"
	"context"
	"errors"
	"iter"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// CoGroupFunc is called once for each key that one of the two streams has, with the elements of both that have the key. An element is
// valid until the next one of its stream is asked for. left and right give each element once, in any order: a second loop goes on
// where the first one has ended. They may be read in turns. The function need not read all elements, and must not use left and right
// after it has returned. Its error fails the attempt; see OperatorError.
type CoGroupFunc[K, A, B, U any] func(ctx context.Context, key K, left iter.Seq[A], right iter.Seq[B], emit func(U)) error

// CoGroup groups two streams by the same key, and calls f for each key, in the order of the keys' encodings within a subtask. A key
// may have more elements in both streams than the worker has memory: what does not fit is sorted in files on the worker's disks. Both
// streams must have the same codec for keys.
//
// Use Join where it does: it need not sort, and may broadcast one side.
func CoGroup[K, A, B, U any](left Keyed[K, A], right Keyed[K, B], f CoGroupFunc[K, A, B, U], o ...Option) Stream[U] {
	p := left.stream.out.node.plan
	set := p.settle("co-group", forStreams, o, f)
	keys, lefts, rights := codecsOf(p, set.name, left, right)
	from := [2]*port{
		keyedRecords(left, set.name+" (left)", keys, lefts, byKey), keyedRecords(right, set.name+" (right)", keys, rights, byKey),
	}
	n := &node{
		name: set.name, parallelism: set.parallelism, placement: set.placement,
		inputs: []connection{{from: from[leftSide], exchange: true}, {from: from[rightSide], exchange: true}},
	}
	n.attach = func(ctx context.Context, c *chain, down any) (any, stage) {
		input := sortedInput{caller: caller{ctx, c, n}, spilled: c.spillCounter()}
		g := &coGrouper[K, A, B, U]{
			caller: input.caller, keys: keys, group: f, emit: down.(func(U)),
			left: members[A]{sortedInput: input, codec: lefts}, right: members[B]{sortedInput: input, codec: rights},
		}
		return heads{g.left.take, g.right.take}, g
	}
	p.add(n)
	return newStream(n, set, codec.For[U])
}

// coGrouper is the stage of CoGroup. It sorts the elements of both streams by key. Each sorter has its own memory: if they
// shared it, the first one that fills it would leave small files to the other one.
type coGrouper[K, A, B, U any] struct {
	idle
	caller
	keys  *Codec[K]
	group CoGroupFunc[K, A, B, U]
	emit  func(U)

	left  members[A]
	right members[B]
	ended int    // inputs
	key   []byte // of the group
}

func (g *coGrouper[K, A, B, U]) open() error {
	if err := g.left.open(leastMemory / 2); err != nil {
		return err
	}
	return g.right.open(leastMemory / 2)
}

// event implements stage.
func (g *coGrouper[K, A, B, U]) event(_ int, e operator.Item) error {
	if e != operator.EndOfData {
		return nil
	}
	if g.ended++; g.ended < 2 {
		return nil
	}
	if err := g.left.sort(); err != nil {
		return err
	}
	return g.right.sort()
}

// produce emits what the function makes of one key.
func (g *coGrouper[K, A, B, U]) produce() (progress, error) {
	if g.ended < 2 || !g.left.read && !g.right.read {
		return done, nil
	}
	first := g.left.key
	if !g.left.read || g.right.read && bytes.Compare(g.right.key, first) < 0 {
		first = g.right.key
	}
	g.key = append(g.key[:0], first...)
	g.left.begin(g.key)
	g.right.begin(g.key)
	key, err := keyOf(g.keys, g.key)
	if err != nil {
		return done, g.failed(err)
	}
	err = g.group(g.ctx, key, g.left.elements, g.right.elements, g.emit)
	if fault := g.chain.fault(); fault != nil { // of another operator, or a cancellation
		return done, fault
	}
	switch read := errors.Join(g.left.err, g.right.err); {
	case read != nil:
		return done, g.failed(read)
	case err != nil:
		return done, failedAtKey(g.caller, key, err)
	}
	if err := g.left.skip(); err != nil {
		return done, g.failed(err)
	}
	return more, g.failed(g.right.skip())
}

// close removes the files.
func (g *coGrouper[K, A, B, U]) close() error { return errors.Join(g.left.close(), g.right.close()) }
