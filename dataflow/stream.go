package dataflow

import (
	"context"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// Stream is a stream of elements of type T within a plan.
type Stream[T any] struct {
	out   *port
	codec func() (Codec[T], error)
}

// Subtask is what a function made for one subtask may know of it.
type Subtask interface {
	// Index is this subtask's number, 0 ≤ Index < Parallelism.
	Index() int
	// Parallelism is the number of subtasks of the operator.
	Parallelism() int
	// Counter gives the job's counter of this name, which sums over subtasks.
	// Look it up once, not for each element.
	Counter(name string) *operator.Counter
}

// Identity gives back what it is given: the key of streams that are keyed by
// their elements.
func Identity[T any](v T) T { return v }

// Map gives f of each element.
func Map[T, U any](s Stream[T], f func(T) U, o ...Option) Stream[U] {
	return transform(s, "map", o, codec.For[U], func(_ Subtask, emit func(U)) func(T) {
		return func(v T) { emit(f(v)) }
	})
}

// FlatMap gives whatever f emits for each element. emit is valid until f
// returns; what it is given must be valid until emit returns.
func FlatMap[T, U any](s Stream[T], f func(v T, emit func(U)), o ...Option) Stream[U] {
	return FlatMapWith(s, func(Subtask) func(T, func(U)) { return f }, o...)
}

// FlatMapWith is FlatMap with a function of its own for each attempt of each
// subtask, which may keep scratch memory, counters and other state.
func FlatMapWith[T, U any](s Stream[T], newFunc func(Subtask) func(v T, emit func(U)), o ...Option) Stream[U] {
	return transform(s, "flat map", o, codec.For[U], func(sub Subtask, emit func(U)) func(T) {
		f := newFunc(sub)
		return func(v T) { f(v, emit) }
	})
}

// Filter gives the elements for which keep holds.
func Filter[T any](s Stream[T], keep func(T) bool, o ...Option) Stream[T] {
	return transform(s, "filter", o, s.codec, func(_ Subtask, emit func(T)) func(T) {
		return func(v T) {
			if keep(v) {
				emit(v)
			}
		}
	})
}

// Union gives the elements of all its inputs, in no order between them.
func Union[T any](first Stream[T], rest ...Stream[T]) Stream[T] {
	p := first.out.node.plan
	n := &node{
		name: "union", parallelism: p.parallelism,
		attach: func(_ context.Context, _ *chain, down any) any { return down },
	}
	for _, s := range append([]Stream[T]{first}, rest...) {
		n.inputs = append(n.inputs, connection{from: s.out})
	}
	p.add(n)
	return newStream(n, settings{}, first.codec)
}

// transform adds an operator that needs nothing but its input; make gives its
// function for one subtask.
func transform[T, U any](
	s Stream[T], kind string, o []Option, c func() (Codec[U], error), build func(sub Subtask, emit func(U)) func(T),
) Stream[U] {
	p := s.out.node.plan
	set := p.settle(kind, forStreams, o)
	n := &node{
		name: set.name, parallelism: set.parallelism, inputs: []connection{{from: s.out}},
		attach: func(_ context.Context, c *chain, down any) any {
			return build(c.subtask, down.(func(U)))
		},
	}
	p.add(n)
	return newStream(n, set, c)
}
