package dataflow

import (
	"context"

	"github.com/cespare/xxhash/v2"

	"github.com/bobbin-yarn/bobbin/dataflow/codec"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// route says to which subtasks of the consumer a port sends a record.
type route int

const (
	byKey   route = iota // to that of its key
	toAll                // to each one
	forward              // to that with the same number; if there are more or fewer of them, to each in turn
)

// ships are the routes as users see them. FORWARD becomes REBALANCE or GATHER if the consumer has more or fewer subtasks.
var ships = map[route]jobgraph.Ship{byKey: jobgraph.ShipHash, toAll: jobgraph.ShipBroadcast, forward: jobgraph.ShipForward} //nolint:gochecknoglobals // constant

// keyedRecords adds an operator that encodes the elements of a keyed stream as pairs of the key and the element.
func keyedRecords[K, T any](k Keyed[K, T], name string, keys *Codec[K], values *Codec[T], to route) *port {
	upstream := k.stream.out.node
	n := &node{name: name, parallelism: upstream.parallelism, inputs: []connection{{from: k.stream.out}}}
	n.attach = func(ctx context.Context, c *chain, down any) (any, stage) {
		emit := down.(func(partial))
		return pairs(caller{ctx, c, n}, k.key, keys, values, func(key, record []byte) { emit(partial{xxhash.Sum64(key), record}) }), idle{}
	}
	upstream.plan.add(n)
	n.out = partialsPort(n, codec.OfKV(*keys, *values).Name)
	if to != byKey {
		n.out.ship = ships[to]
		n.out.send = func(at caller, w operator.RecordWriter) any {
			send := at.chain.sender(at.ctx, w, to)
			return func(p partial) { send(p.record) }
		}
	}
	return n.out
}

// pairs returns a function that takes elements, and encodes them as pairs of their key and themselves. emit gets the key and the pair,
// and may use them until it returns.
func pairs[K, T any](at caller, keyOf func(T) K, keys *Codec[K], values *Codec[T], emit func(key, record []byte)) func(T) {
	var scratch, record []byte
	return func(v T) {
		if at.chain.err != nil {
			return
		}
		var key []byte
		var err error
		if keys.View != nil {
			key = keys.View(keyOf(v))
		} else if key, err = keys.Append(scratch[:0], keyOf(v)); err == nil {
			scratch = key
		}
		if err == nil {
			var encoded []byte
			if encoded, err = values.Append(codec.AppendKey(record[:0], key), v); err == nil {
				record = encoded
				emit(key, record)
			}
		}
		if err != nil {
			at.chain.fail(failedAt(at, v, err))
		}
	}
}

// sender returns a function that sends records without a key.
func (c *chain) sender(ctx context.Context, w operator.RecordWriter, to route) func(record []byte) {
	channels := w.Channels()
	next, step := c.subtask.Index()%channels, 1
	if channels == c.subtask.Parallelism() {
		step = 0
	}
	return func(record []byte) {
		from, end := next, next+1
		if to == toAll {
			from, end = 0, channels
		}
		for channel := from; channel < end && c.err == nil; channel++ {
			if err := w.Emit(ctx, channel, record); err != nil {
				c.fail(err)
			}
		}
		if next += step; next == channels {
			next = 0
		}
	}
}
