package dataflow

import (
	"context"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// recordsPort is an output whose elements are encoded already: they are []byte on both sides.
func recordsPort(n *node, codecName string, to route) *port {
	return &port{
		node:    n,
		ship:    ships[to],
		resolve: func() (string, error) { return codecName, nil },
		tee:     tee[[]byte],
		send:    func(ctx context.Context, c *chain, w operator.RecordWriter) any { return c.sender(ctx, w, to) },
		receive: func(_ *chain, down any) func([]byte) { return down.(func([]byte)) },
		watch:   watched[[]byte],
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
