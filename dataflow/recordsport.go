package dataflow

import (
	"context"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// recordsPort is an output whose elements are encoded already: they are []byte on both sides. send makes the function that sends
// a record to subtasks of the consumer.
func recordsPort(n *node, codecName string, send func(ctx context.Context, c *chain, w operator.RecordWriter) func([]byte) error) *port {
	return &port{
		node:    n,
		resolve: func() (string, error) { return codecName, nil },
		tee:     tee[[]byte],
		send: func(ctx context.Context, c *chain, w operator.RecordWriter) any {
			emit := send(ctx, c, w)
			return func(record []byte) {
				if c.err != nil {
					return
				}
				if err := emit(record); err != nil {
					c.fail(err)
				}
			}
		},
		receive: func(_ *chain, down any) func([]byte) { return down.(func([]byte)) },
		watch:   watched[[]byte],
	}
}

// sendInTurn sends records to the subtasks of the consumer in turn.
func sendInTurn(ctx context.Context, c *chain, w operator.RecordWriter) func([]byte) error {
	channels := w.Channels()
	next := c.subtask.Index() % channels
	return func(record []byte) error {
		to := next
		if next++; next == channels {
			next = 0
		}
		return w.Emit(ctx, to, record)
	}
}

// sendToAll sends each record to every subtask of the consumer.
func sendToAll(ctx context.Context, _ *chain, w operator.RecordWriter) func([]byte) error {
	return func(record []byte) error {
		for channel := range w.Channels() {
			if err := w.Emit(ctx, channel, record); err != nil {
				return err
			}
		}
		return nil
	}
}

// inRange is a record and the subtask of the consumer that gets it.
type inRange struct {
	channel int
	record  []byte
}

// rangesPort is an output whose elements are inRange, and []byte on the consumer's side.
func rangesPort(n *node, codecName string) *port {
	return &port{
		node:    n,
		ship:    jobgraph.ShipRange,
		resolve: func() (string, error) { return codecName, nil },
		send: func(ctx context.Context, c *chain, w operator.RecordWriter) any {
			return func(r inRange) {
				if c.err != nil {
					return
				}
				if err := w.Emit(ctx, r.channel, r.record); err != nil {
					c.fail(err)
				}
			}
		},
		receive: func(_ *chain, down any) func([]byte) { return down.(func([]byte)) },
		watch:   watched[[]byte],
	}
}
