package dataflow

import (
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/dataflow/operator"
)

// encodedPort is an output whose elements come as encoded records with what send needs to choose a subtask. On the consumer's side they
// are []byte.
func encodedPort[T any](n *node, codecName string, ship jobgraph.Ship, send func(at caller, w operator.RecordWriter) func(T)) *port {
	return &port{
		node:    n,
		ship:    ship,
		resolve: func() (string, error) { return codecName, nil },
		tee:     tee[T],
		send:    func(at caller, w operator.RecordWriter) any { return send(at, w) },
		receive: func(_ caller, down any) func([]byte) { return down.(func([]byte)) },
		watch:   watched[[]byte],
	}
}

// keyedRecord is an encoded pair of a key and a value, and the hash of the key.
type keyedRecord struct {
	hash   uint64
	record []byte
}

// keyedPort sends each pair to the subtask of its key.
func keyedPort(n *node, codecName string) *port {
	return encodedPort(n, codecName, jobgraph.ShipHash, func(at caller, w operator.RecordWriter) func(keyedRecord) {
		channels := uint64(w.Channels())
		return func(k keyedRecord) { at.send(w, channelOf(k.hash, channels), k.record) }
	})
}

// channelOf spreads hashes over channels by their upper half. Unlike the hash of
// the tables, this hash is the same in every process.
func channelOf(hash, channels uint64) int { return int((hash >> 32) * channels >> 32) }

// inRange is a record and the subtask of the consumer that gets it.
type inRange struct {
	channel int
	record  []byte
}

// rangesPort sends each record to the subtask of its range.
func rangesPort(n *node, codecName string) *port {
	return encodedPort(n, codecName, jobgraph.ShipRange, func(at caller, w operator.RecordWriter) func(inRange) {
		return func(r inRange) { at.send(w, r.channel, r.record) }
	})
}

// route says to which subtasks of the consumer an output sends a record.
type route int

const (
	byKey   route = iota // to that of its key
	toAll                // to each one
	forward              // to that with the same number; if there are more or fewer of them, to each in turn
)

// ships are the routes of recordsPort as users see them. FORWARD becomes REBALANCE or GATHER if the consumer has more or fewer subtasks.
var ships = map[route]jobgraph.Ship{toAll: jobgraph.ShipBroadcast, forward: jobgraph.ShipForward} //nolint:gochecknoglobals // constant

// recordsPort sends each record by a route, which is not byKey.
func recordsPort(n *node, codecName string, to route) *port {
	return encodedPort(n, codecName, ships[to], func(at caller, w operator.RecordWriter) func([]byte) { return at.sender(w, to) })
}

// sender returns a function that sends records by a route. Over an exchange, forward keeps to its number. There spread takes turns, as
// Rebalance says.
func (at caller) sender(w operator.RecordWriter, to route) func(record []byte) {
	channels := w.Channels()
	if to == toAll {
		return func(record []byte) {
			for channel := range channels {
				at.send(w, channel, record)
			}
		}
	}
	next, step := at.chain.subtask.Index()%channels, 1
	if channels == at.chain.subtask.Parallelism() {
		step = 0
	}
	return func(record []byte) {
		at.send(w, next, record)
		if next += step; next == channels {
			next = 0
		}
	}
}

// send sends a record to a channel, unless the attempt has failed.
func (at caller) send(w operator.RecordWriter, channel int, record []byte) {
	if at.chain.err != nil {
		return
	}
	if err := w.Emit(at.ctx, channel, record); err != nil {
		at.chain.fail(err)
	}
}
