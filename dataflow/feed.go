package dataflow

import (
	"context"
	"errors"

	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// burst is how many records a task takes from one input before it looks at the next one.
const burst = 1024

// errNothingWanted is the error of a task that would wait forever.
var errNothingWanted = errors.New("the operator holds all of its inputs back")

// feed gives the first operator all its input: records in the order of their arrival, from those inputs that it wants to read, and
// the events between them. Everything happens in the calling goroutine.
func (t task) feed(ctx context.Context, c *chain, head any) error {
	if len(t.inputs) == 0 {
		return c.source(ctx)
	}
	first, at := c.stages[0], caller{ctx, c, t.nodes[0]}
	readers := make([]reading, len(t.inputs))
	for i, in := range t.inputs {
		readers[i] = reading{chain: c, input: i, reader: c.subtask.Input(i), take: in.from.receive(at, headOf(head, i))}
	}
	for {
		open, held, came := 0, 0, false
		for i := range readers {
			r := &readers[i]
			switch {
			case r.ended:
				continue
			case !first.wants(i):
				held++
				open++
				continue
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			some, err := r.burst(first)
			if err != nil {
				return err
			}
			came = came || some
			if !r.ended {
				open++
			}
		}
		switch {
		case open == 0:
			return nil
		case came:
			continue
		case held == open:
			return at.failed(operator.Permanent(errNothingWanted))
		}
		if err := c.subtask.Await(ctx); err != nil {
			return err
		}
	}
}

// heads are the functions that take the elements of an operator's inputs, by their index. An operator whose inputs have different
// types has them in place of one function.
type heads []any

// headOf returns the function that takes the elements of an input.
func headOf(head any, input int) any {
	if all, several := head.(heads); several {
		return all[input]
	}
	return head
}

// reading is one input of a task.
type reading struct {
	chain  *chain
	input  int
	reader operator.RecordReader
	take   func(record []byte)
	ended  bool
}

// burst takes what is there, up to a bound, and reports whether something was.
func (r *reading) burst(first stage) (came bool, err error) {
	for range burst {
		item, record, err := r.reader.Poll()
		if err != nil {
			return true, err
		}
		switch item {
		case operator.Nothing:
			return came, nil
		case operator.Record:
			r.take(record)
			if err := r.chain.fault(); err != nil {
				return true, err
			}
			came = true
			continue
		case operator.EndOfData:
			r.ended = true
		}
		if err := first.event(r.input, item); err != nil {
			return true, err
		}
		return true, r.chain.drain(first)
	}
	return true, nil
}

// source lets the source of the vertex produce all its elements, or as many as the operators need.
func (c *chain) source(ctx context.Context) error {
	for !c.sated {
		p, err := c.stages[0].produce()
		if err == nil {
			err = c.fault()
		}
		switch {
		case err != nil:
			return err
		case p == done:
			return nil
		case p == blocked:
			if err := c.subtask.Await(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}
