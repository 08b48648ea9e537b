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

// Subtask describes the subtask for which FlatMapWith makes a function.
type Subtask interface {
	// Index is this subtask's number, 0 ≤ Index < Parallelism.
	Index() int
	// Parallelism is the number of subtasks of the operator.
	Parallelism() int
	// Metrics are counters, gauges, meters and histograms of this operator:
	// s.Counter("malformed").Add(1). They are visible while the job runs, and a
	// counter is part of the job's result, too.
	operator.Metrics
	// CachedFile returns the path of the job's cached file of this name on this
	// machine (option pipeline.cached-files). Other tasks read the same copy, so
	// do not change it. The error lists the names that the job has. It is no
	// use to try again, so panic with it if you need the file.
	CachedFile(name string) (path string, err error)
	// Resources are the amounts of external resources, such as GPUs, of the subtask's
	// slot, by their names in the option external-resources. Subtasks in one slot
	// share them. The default slots of a worker share those of the whole worker.
	Resources() map[string]int64
}

// view is the subtask as one of its operators sees it.
type view struct {
	operator.Subtask
	operator.Metrics
	sides sides
}

// view is the subtask for the operator that is being attached.
func (c *chain) view() view { return view{c.subtask, c.metrics(), c.sides} }

// Identity returns its argument. It is the key function of streams whose
// elements are their keys.
func Identity[T any](v T) T { return v }

// Map applies f to each element.
func Map[T, U any](s Stream[T], f func(T) U, o ...Option) Stream[U] {
	return transform(s, "map", o, f, codec.For[U], func(_ Subtask, emit func(U)) func(T) {
		return func(v T) { emit(f(v)) }
	})
}

// FlatMap emits the values that f emits for each element. f must not call emit
// after it has returned. The argument of emit must stay valid until emit
// returns.
func FlatMap[T, U any](s Stream[T], f func(v T, emit func(U)), o ...Option) Stream[U] {
	return flatMap(s, o, f, func(Subtask) func(T, func(U)) { return f })
}

// FlatMapWith is FlatMap with a separate function for each attempt of each
// subtask. The function may keep scratch memory, counters and other state.
func FlatMapWith[T, U any](s Stream[T], newFunc func(Subtask) func(v T, emit func(U)), o ...Option) Stream[U] {
	return flatMap(s, o, newFunc, newFunc)
}

func flatMap[T, U any](s Stream[T], o []Option, given any, newFunc func(Subtask) func(T, func(U))) Stream[U] {
	out := transform(s, "flat map", o, given, codec.For[U], func(sub Subtask, emit func(U)) func(T) {
		f := newFunc(sub)
		return func(v T) { f(v, emit) }
	})
	out.out.node.hasSides = true
	return out
}

// Filter keeps the elements for which keep returns true.
func Filter[T any](s Stream[T], keep func(T) bool, o ...Option) Stream[T] {
	return transform(s, "filter", o, keep, s.codec, func(_ Subtask, emit func(T)) func(T) {
		return func(v T) {
			if keep(v) {
				emit(v)
			}
		}
	})
}

// Union merges its inputs into one stream. The order between inputs is not
// defined. It has the job's parallelism; see UnionWith.
func Union[T any](first Stream[T], rest ...Stream[T]) Stream[T] { return UnionWith(first, rest) }

// UnionWith is Union with options. Elements of inputs that have its parallelism
// stay in their subtask. Those of other inputs are dealt out in turns.
func UnionWith[T any](first Stream[T], rest []Stream[T], o ...Option) Stream[T] {
	p := first.out.node.plan
	set := p.settle("union", forStreams, o)
	n := &node{name: set.name, parallelism: set.parallelism, placement: set.placement, attach: passOn}
	for _, s := range append([]Stream[T]{first}, rest...) {
		n.inputs = append(n.inputs, connection{from: s.out})
	}
	p.add(n)
	return newStream(n, set, first.codec)
}

// transform adds an operator with one input, without an exchange. build makes the
// operator's function for one subtask. It calls given, which is one of the user.
func transform[T, U any](
	s Stream[T], kind string, o []Option, given any, c func() (Codec[U], error), build func(sub Subtask, emit func(U)) func(T),
) Stream[U] {
	p := s.out.node.plan
	set := p.settle(kind, forStreams, o, given)
	n := &node{
		name: set.name, parallelism: set.parallelism, placement: set.placement, inputs: []connection{{from: s.out}},
		attach: func(_ context.Context, c *chain, down any) (any, stage) {
			return build(c.view(), down.(func(U))), idle{}
		},
	}
	p.add(n)
	return newStream(n, set, c)
}
