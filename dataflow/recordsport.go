package dataflow

import (
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
		send:    func(at caller, w operator.RecordWriter) any { return at.chain.sender(at.ctx, w, to) },
		receive: func(_ caller, down any) func([]byte) { return down.(func([]byte)) },
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
		send: func(at caller, w operator.RecordWriter) any {
			return func(r inRange) {
				if at.chain.err != nil {
					return
				}
				if err := w.Emit(at.ctx, r.channel, r.record); err != nil {
					at.chain.fail(err)
				}
			}
		},
		receive: func(_ caller, down any) func([]byte) { return down.(func([]byte)) },
		watch:   watched[[]byte],
	}
}
