package dataflow

import (
	"context"
	"fmt"
)

// Limit emits at most n elements of a stream. Which ones is not defined. Each subtask of the producer passes on at most n, and
// one subtask takes n of these, so the option Parallelism does not apply.
//
// A source whose elements all go to Limit in the same goroutine stops reading soon after n of them have come. It reads up to 1,024
// elements more, and each subtask of the source reads that many. Behind an exchange or a side output, all input is read.
func Limit[T any](s Stream[T], n int, o ...Option) Stream[T] {
	upstream := s.out.node
	p := upstream.plan
	set := p.settle("limit", forStreams&^optionParallelism, o)
	if n < 0 {
		p.fault(fmt.Errorf("%s: the number of elements is %d, and must not be negative", set.name, n))
	}
	each := &node{
		name: set.name + " (each subtask)", parallelism: upstream.parallelism, inputs: []connection{{from: s.out}},
		attach: func(_ context.Context, c *chain, down any) (any, stage) {
			at, emit := c.operator, down.(func(T))
			return limited(n, emit, func() { c.enough(at) }), idle{}
		},
	}
	p.add(each)
	some := newStream(each, settings{}, s.codec)
	all := &node{
		name: set.name, parallelism: 1, placement: set.placement, inputs: []connection{{from: some.out, exchange: true}},
		attach: func(_ context.Context, _ *chain, down any) (any, stage) {
			return limited(n, down.(func(T)), func() {}), idle{}
		},
	}
	p.add(all)
	return newStream(all, set, s.codec)
}

// limited passes on n elements, and calls enough when they are there.
func limited[T any](n int, emit func(T), enough func()) func(T) {
	if n == 0 {
		enough()
	}
	return func(v T) {
		if n == 0 {
			return
		}
		if n--; n == 0 {
			enough()
		}
		emit(v)
	}
}
