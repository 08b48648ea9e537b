package dataflow

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// Function is the code of an operator in one attempt of one subtask. All its functions are called by one goroutine, so they may
// share state. Only Process is required. An error of any of them fails the attempt, unless RejectTo says otherwise; see
// OperatorError.
//
// ctx ends when the attempt is cancelled. The argument of emit must stay valid until emit returns, and emit must not be called
// after the function has returned.
type Function[T, U any] struct {
	// Open is called before the first element.
	Open func(ctx context.Context) error
	// Process is called for each element, and emits any number of others.
	Process func(ctx context.Context, v T, emit func(U)) error
	// Finish is called after the last element, and emits what is left.
	Finish func(ctx context.Context, emit func(U)) error
	// Close is called once at the end of the attempt, also if Open or another function has failed, but not if Open was never
	// called. ctx has ended by then.
	Close func() error
}

// Process adds an operator whose code has a life cycle and may fail. newFunction makes the code for each attempt of each subtask.
func Process[T, U any](s Stream[T], newFunction func(Subtask) Function[T, U], o ...Option) Stream[U] {
	return process(s, "process", o, newFunction, newFunction)
}

// TryMap is Map with a function that may fail.
func TryMap[T, U any](s Stream[T], f func(ctx context.Context, v T) (U, error), o ...Option) Stream[U] {
	return try(s, "map", o, f, func(ctx context.Context, v T, emit func(U)) error {
		mapped, err := f(ctx, v)
		if err == nil {
			emit(mapped)
		}
		return err
	})
}

// TryFlatMap is FlatMap with a function that may fail.
func TryFlatMap[T, U any](s Stream[T], f func(ctx context.Context, v T, emit func(U)) error, o ...Option) Stream[U] {
	return try(s, "flat map", o, f, f)
}

// TryFilter is Filter with a function that may fail.
func TryFilter[T any](s Stream[T], keep func(ctx context.Context, v T) (bool, error), o ...Option) Stream[T] {
	return try(s, "filter", o, keep, func(ctx context.Context, v T, emit func(T)) error {
		kept, err := keep(ctx, v)
		if err == nil && kept {
			emit(v)
		}
		return err
	})
}

// try adds an operator whose function has no state.
func try[T, U any](s Stream[T], kind string, o []Option, given any, f func(context.Context, T, func(U)) error) Stream[U] {
	return process(s, kind, o, given, func(Subtask) Function[T, U] { return Function[T, U]{Process: f} })
}

// process adds an operator with the code that newFunction makes. It calls given, which is one of the user.
func process[T, U any](s Stream[T], kind string, o []Option, given any, newFunction func(Subtask) Function[T, U]) Stream[U] {
	p := s.out.node.plan
	set := p.settle(kind, forStreams|optionReject, o, given)
	n := &node{
		name: set.name, parallelism: set.parallelism, placement: set.placement, inputs: []connection{{from: s.out}},
		hasSides: true, rejects: set.reject, rejected: reflect.TypeFor[Rejected[T]](),
	}
	n.attach = func(ctx context.Context, c *chain, down any) (any, stage) {
		f := &function[T, U]{caller: caller{ctx, c, n}, code: newFunction(c.view()), emit: down.(func(U))}
		if set.reject != "" {
			f.reject = sideOutput[Rejected[T]](c.sides, set.reject)
		}
		return f.take, f
	}
	switch {
	case set.rejected == nil:
	case set.reject == "":
		p.fault(fmt.Errorf("%s: option RejectTo has a tag without a name: make it with NewOutputTag", set.name))
	case set.rejected != reflect.TypeFor[T]():
		p.fault(fmt.Errorf("%s: option RejectTo has a tag for elements of type %s, and the operator takes %s", set.name, set.rejected, reflect.TypeFor[T]()))
	}
	p.add(n)
	return newStream(n, set, codec.For[U])
}

// errNoProcess says that a Function cannot take elements.
var errNoProcess = errors.New("its Function has no Process")

// function is the stage of a Function.
type function[T, U any] struct {
	idle
	caller
	code   Function[T, U]
	emit   func(U)
	opened bool              // Open was called
	reject func(Rejected[T]) // nil: an error of Process fails the attempt
}

func (f *function[T, U]) open() error {
	if f.code.Process == nil {
		return f.failed(operator.Permanent(errNoProcess))
	}
	f.opened = true
	if f.code.Open == nil {
		return nil
	}
	return f.failed(f.code.Open(f.ctx))
}

func (f *function[T, U]) take(v T) {
	if f.chain.err != nil {
		return
	}
	err := f.code.Process(f.ctx, v, f.emit)
	switch {
	case err == nil:
	case f.reject == nil || f.ctx.Err() != nil:
		f.chain.fail(failedAt(f.caller, v, err))
	default:
		f.reject(Rejected[T]{Element: v, Reason: err.Error()})
	}
}

func (f *function[T, U]) event(_ int, e operator.Item) error {
	if e != operator.EndOfData || f.code.Finish == nil {
		return nil
	}
	return f.failed(f.code.Finish(f.ctx, f.emit))
}

func (f *function[T, U]) close() error {
	if f.code.Close == nil || !f.opened {
		return nil
	}
	return f.failed(f.code.Close())
}
