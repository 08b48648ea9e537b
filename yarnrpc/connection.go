package yarnrpc

import (
	"context"

	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pause"
)

// Connection makes the calls of one client to one service: a *Proxy, or what Options.Connect makes in
// its place.
type Connection interface {
	Caller
	// Reset makes the next call use a new connection.
	Reset()
	// Close ends running calls. Later calls fail.
	Close() error
}

// Connect makes a connection to the service at addresses: what o.Connect makes, or otherwise a Proxy. The
// typed clients use it.
func Connect(addresses []string, o Options, p Policy) Connection {
	if o.Connect != nil {
		return o.Connect(addresses, o, p)
	}
	return NewProxy(addresses, o, p)
}

// Clock is another clock than the machine's, for simulations.
type Clock = pause.Clock

// WithClock returns a context under which the typed clients wait and read the time by a clock. Their calls
// still take real time, unless Options.Connect makes other connections than a Proxy.
func WithClock(ctx context.Context, c Clock) context.Context { return pause.With(ctx, c) }
