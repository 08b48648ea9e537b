package dataflow

import (
	"context"
	"errors"
	"io"
	"sync/atomic"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// chain is one attempt of one subtask of a vertex. The functions of its operators
// call each other and return no errors. So an operator keeps its error here, and
// the loop that feeds the first operator looks at it.
type chain struct {
	subtask  operator.Subtask
	operator int                   // the index of the one that is being attached
	memory   int64                 // bytes that each operator with state may hold
	err      error                 // the first failure
	canceled atomic.Pointer[error] // the cause of ctx's end; nil until then
	ends     []func()
	closers  []func()
}

// metrics are those of the operator that is being attached.
func (c *chain) metrics() operator.Metrics { return c.subtask.Metrics(c.operator) }

// fail keeps the first error. It makes the attempt fail, so the elements that are
// still in the chain do not matter.
func (c *chain) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// fault returns the first failure or the cause of a cancellation. The loop that
// feeds the chain calls it after each element, because a user's function may take
// long for one element, and a buffer holds many.
func (c *chain) fault() error {
	if cause := c.canceled.Load(); cause != nil {
		c.fail(*cause)
	}
	return c.err
}

// atEnd registers f to be called after the last input element. Operators are
// attached from the last to the first, and finish calls the functions in reverse
// order. So it calls the functions of the first operators first.
func (c *chain) atEnd(f func()) { c.ends = append(c.ends, f) }

// atClose registers f to be called at the end of the attempt, also after an error.
func (c *chain) atClose(f func()) { c.closers = append(c.closers, f) }

func (c *chain) finish() error {
	for i := len(c.ends) - 1; i >= 0 && c.err == nil; i-- {
		c.ends[i]()
	}
	return c.err
}

func (c *chain) close() {
	for _, f := range c.closers {
		f()
	}
}

// task runs the operators of one vertex. It implements operator.Task.
type task struct{ *vertex }

// Run implements operator.Task.
func (t task) Run(ctx context.Context, s operator.Subtask) error {
	c := &chain{subtask: s, memory: s.Memory() / int64(max(1, t.stateful()))}
	defer c.close()
	stop := context.AfterFunc(ctx, func() {
		cause := context.Cause(ctx)
		c.canceled.Store(&cause)
	})
	defer stop()
	head := t.build(ctx, c)
	if err := t.feed(ctx, c, head); err != nil {
		return err
	}
	return c.finish()
}

// feed passes all input to the head.
func (t task) feed(ctx context.Context, c *chain, head any) error {
	if source, ok := head.(func() error); ok {
		return source()
	}
	takers := make([]func([]byte), len(t.inputs))
	for i, in := range t.inputs {
		takers[i] = in.from.receive(c, head)
	}
	if len(takers) > 1 {
		return feedMerged(ctx, c, takers)
	}
	for reader := c.subtask.Input(0); ; {
		record, err := reader.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return c.err
		case err != nil:
			return err
		}
		takers[0](record)
		if err := c.fault(); err != nil {
			return err
		}
	}
}
