package dataflow

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// chain is one attempt of one subtask of a vertex: its operators, in the order of the data. The functions that take elements
// call each other and return no errors. So an operator keeps its error here, and the loop that feeds the first operator looks
// at it.
type chain struct {
	subtask  operator.Subtask
	stages   []stage               // of the vertex's operators
	operator int                   // the index of the one that is being attached
	sides    sides                 // its side outputs
	at       func() string         // where the source of the vertex is in its input; nil: there is none
	line     int                   // operators at the beginning of a source's vertex that form a line; see vertex.line
	sated    bool                  // the operators need no more elements of the source
	err      error                 // the first failure
	canceled atomic.Pointer[error] // the cause of ctx's end; nil until then
	closers  []func()
}

// metrics are those of the operator that is being attached.
func (c *chain) metrics() operator.Metrics { return c.subtask.Metrics(c.operator) }

// place says where the source of the vertex is in its input, or is "".
func (c *chain) place() string {
	if c.at == nil {
		return ""
	}
	return c.at()
}

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

// enough says that an operator needs no more elements. If the source gives its elements only to that one, it stops.
func (c *chain) enough(operator int) { c.sated = c.sated || operator < c.line }

// atClose registers f to be called at the end of the attempt, also after an error.
func (c *chain) atClose(f func()) { c.closers = append(c.closers, f) }

// open opens the operators, the last one first: an operator may emit as soon as it is open.
func (c *chain) open() error {
	for _, s := range slices.Backward(c.stages) {
		if err := s.open(); err != nil {
			return err
		}
	}
	return nil
}

// finish ends the operators one after the other, when the first one has no more input. So each one gets all elements before its
// end.
func (c *chain) finish() error {
	for _, s := range c.stages[1:] {
		if err := s.event(0, operator.EndOfData); err != nil {
			return err
		}
		if err := c.drain(s); err != nil {
			return err
		}
	}
	return c.fault()
}

// drain lets an operator emit what it has of its own.
func (c *chain) drain(s stage) error {
	for {
		if err := c.fault(); err != nil {
			return err
		}
		if p, err := s.produce(); p == done || err != nil {
			return err
		}
	}
}

func (c *chain) close() error {
	for _, f := range c.closers {
		f()
	}
	return closeAll(c.stages)
}

// closeAll closes operators, also those behind one that panics.
func closeAll(stages []stage) (err error) {
	if len(stages) == 0 {
		return nil
	}
	defer func() { err = errors.Join(err, closeAll(stages[1:])) }()
	if stages[0] == nil { // a function of the user may have ended the construction
		return nil
	}
	return stages[0].close()
}

// task runs the operators of one vertex. It implements operator.Task.
type task struct{ *vertex }

// Run implements operator.Task.
func (t task) Run(attempt context.Context, s operator.Subtask) (err error) {
	defer func() {
		if err != nil && attempt.Err() != nil { // the error is a consequence
			err = context.Cause(attempt)
		}
	}()
	c := &chain{subtask: s, stages: make([]stage, len(t.nodes)), line: t.line()}
	defer func() {
		if closed := c.close(); err == nil {
			err = closed
		}
	}()
	ctx, cancel := context.WithCancel(attempt)
	defer cancel() // before c.close, in which a user may wait for goroutines
	stop := context.AfterFunc(ctx, func() {
		cause := context.Cause(ctx)
		c.canceled.Store(&cause)
	})
	defer stop()
	head := t.build(ctx, c)
	if err := c.open(); err != nil {
		return err
	}
	if err := t.feed(ctx, c, head); err != nil {
		return err
	}
	return c.finish()
}
