package dataflow

import (
	"fmt"
	"reflect"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
)

// OutputTag names a side output: a further output of an operator, with elements of a type of its own (Flink's OutputTag). Make it
// with NewOutputTag, and keep it in a package variable.
type OutputTag[T any] struct {
	name  string
	codec func() (Codec[T], error)
}

// NewOutputTag makes the tag of a side output. The name must be unique within the operator.
func NewOutputTag[T any](name string) OutputTag[T] {
	return OutputTag[T]{name: name, codec: codec.For[T]}
}

// SideOutput returns the elements that the operator of s sends to its side output. The operator must be one of Process,
// ProcessWithBroadcast, TryMap, TryFlatMap, TryFilter or FlatMapWith.
func SideOutput[U, T any](s Stream[U], tag OutputTag[T]) Stream[T] {
	n := s.out.node
	if !n.hasSides {
		n.plan.fault(fmt.Errorf("%s: this operator has no side output %q: use Process, ProcessWithBroadcast, a function that may fail, or FlatMapWith", n.name, tag.name))
	}
	if tag.name == "" {
		n.plan.fault(fmt.Errorf("%s: the tag of a side output needs a name: make it with NewOutputTag", n.name))
	}
	if n.rejects == tag.name && n.rejected != reflect.TypeFor[T]() {
		n.plan.fault(fmt.Errorf("%s: it rejects elements to the side output %q, whose tag is of another type: %s", n.name, tag.name, reflect.TypeFor[T]()))
	}
	if n.sides[tag.name] != nil {
		n.plan.fault(fmt.Errorf("%s: the side output %q is taken twice: use the stream of the first SideOutput", n.name, tag.name))
	}
	if n.sides == nil {
		n.sides = make(map[string]*port)
	}
	out := newPort(n, tag.codec)
	n.sides[tag.name] = out
	return Stream[T]{out: out, codec: tag.codec}
}

// Output returns the function that sends an element to a side output of the operator. Call it once, when the operator's function is
// made. If the plan does not take this side output, its elements are dropped.
func Output[T any](s Subtask, tag OutputTag[T]) func(T) {
	v, is := s.(view)
	if !is {
		panic("dataflow: Output needs the Subtask that the operator's function got")
	}
	return sideOutput[T](v.sides, tag.name)
}

// sides are the functions that take the elements of an operator's side outputs, by their names.
type sides map[string]any

func sideOutput[T any](of sides, name string) func(T) {
	switch taker := of[name].(type) {
	case func(T):
		return taker
	case nil:
		return func(T) {}
	default:
		panic(fmt.Sprintf("dataflow: side output %q is of another type: it takes %T", name, taker))
	}
}

// Rejected is an element that an operator could not process, and why.
type Rejected[T any] struct {
	Element T
	Reason  string
}

// RejectTo sends an element for which the operator's function returns an error to a side output, with the error's text. The
// attempt goes on. Elements that the function has emitted before the error stay, and so do its changes to the rejected element. The
// plan must take the side output with SideOutput.
func RejectTo[T any](tag OutputTag[Rejected[T]]) Option {
	return Option{optionReject, func(s *settings) { s.reject, s.rejected = tag.name, reflect.TypeFor[T]() }}
}
