package dataflow

import (
	"context"
	"fmt"
	"reflect"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
)

// Descending makes Sort and SortPartition begin with the greatest key.
func Descending() Option {
	return Option{optionDescending, func(s *settings) { s.descending = true }}
}

// Sort sorts a whole stream by a key: subtask 0 of the operator emits the smallest elements in order, subtask 1 those that follow, and
// so on. A sink behind it with the same parallelism keeps this order: all lines of part-00000 come before those of part-00001. Keys
// compare as in Go; codec.KeyFor has the rules, for example for NaN. A key type without an order is an error of the plan. Elements
// with the same key come in any order.
//
// Each producer takes a sample of its keys, of which the job computes ranges for the subtasks of about the same number of elements.
// Only then are the elements sent. Until then, they are in files on the workers' disks. Elements with the same key are in one
// subtask, so a key that most elements have makes one subtask slow. If the operator has one subtask, there are no samples.
//
// The elements of a subtask, and those of a single key, may exceed the worker's memory: what does not fit is sorted in files.
func Sort[T, K any](s Stream[T], key func(T) K, o ...Option) Stream[T] {
	set := s.out.node.plan.settle("sort", forStreams|optionDescending, o, key)
	b := newSorting(s, key, set)
	if set.parallelism == 1 {
		return b.sorted(b.encoded(nil), connection{})
	}
	return b.sorted(b.ranged(), connection{exchange: true})
}

// SortPartition sorts the elements within each subtask of the stream's operator, and moves none to another. Otherwise it is like Sort.
func SortPartition[T, K any](s Stream[T], key func(T) K, o ...Option) Stream[T] {
	set := s.out.node.plan.settle("sort partition", forStreams&^optionParallelism|optionDescending, o, key)
	set.parallelism = s.out.node.parallelism
	b := newSorting(s, key, set)
	return b.sorted(b.encoded(nil), connection{})
}

// sorting makes the operators of a sort. Between them, an element is an encoded pair of its key and itself.
type sorting[T, K any] struct {
	settings
	from   Stream[T]
	key    func(T) K
	keys   Codec[K]
	values Codec[T]
	pairs  string // the name of the pairs' codec
}

func newSorting[T, K any](s Stream[T], key func(T) K, set settings) *sorting[T, K] {
	p := s.out.node.plan
	keys, err := codec.KeyFor[K]()
	switch {
	case err != nil:
		p.fault(fmt.Errorf("%s: key: %w", set.name, err))
	case !keys.Ordered:
		p.fault(fmt.Errorf("%s: keys of type %s have no order: sort by a number, a text, a time, or a struct or slice of these", set.name, reflect.TypeFor[K]()))
	}
	values, err := s.codec()
	if err != nil {
		p.fault(fmt.Errorf("%s: %w", set.name, err))
	}
	if set.descending {
		keys = codec.Reversed(keys)
	}
	return &sorting[T, K]{set, s, key, keys, values, codec.OfKV(keys, values).Name}
}

// encoded adds the operator that encodes elements, in the goroutine of its input. sample makes the stage that gets each key; nil:
// there is none.
func (b *sorting[T, K]) encoded(sample func(c *chain) *sampler) *node {
	upstream := b.from.out.node
	name := b.name + " (encode)"
	if sample != nil {
		name = b.name + " (sample)"
	}
	n := &node{name: name, parallelism: upstream.parallelism, inputs: []connection{{from: b.from.out}}}
	n.attach = func(ctx context.Context, c *chain, down any) (any, stage) {
		at, emit := caller{ctx, c, n}, down.(func([]byte))
		if sample == nil {
			return pairs(at, b.key, &b.keys, &b.values, func(_, record []byte) { emit(record) }), idle{}
		}
		s := sample(c)
		return pairs(at, b.key, &b.keys, &b.values, func(key, record []byte) {
			s.keys.Add(key)
			emit(record)
		}), s
	}
	upstream.plan.add(n)
	n.out = recordsPort(n, b.pairs, forward)
	return n
}

// sorted adds the operator that sorts records, behind the operator that emits them.
func (b *sorting[T, K]) sorted(from *node, by connection) Stream[T] {
	by.from = from.out
	n := &node{name: b.name, parallelism: b.parallelism, placement: b.placement, inputs: []connection{by}}
	n.attach = func(ctx context.Context, c *chain, down any) (any, stage) {
		s := newSorterStage(caller{ctx, c, n})
		emit := down.(func(T))
		s.each = func(_, value []byte) error {
			v, err := b.values.Decode(value)
			if err == nil {
				emit(v)
			}
			return err
		}
		return s.input.take, s
	}
	from.plan.add(n)
	return newStream(n, b.settings, b.from.codec)
}
