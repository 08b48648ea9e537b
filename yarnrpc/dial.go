package yarnrpc

import (
	"context"
	"errors"
	"fmt"
)

// Dial connects to a server and authenticates, within Options.ConnectTimeout. If the client
// sends a user name instead of a token, the server may still refuse the connection at the
// first call.
func Dial(ctx context.Context, address string, o Options) (*Conn, error) {
	c, err := dial(ctx, address, o.withDefaults(), newIdentity())
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	return c, nil
}

func dial(ctx context.Context, address string, o Options, id *identity) (*Conn, error) {
	if o.ConnectTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.ConnectTimeout, ErrConnectTimeout)
		defer cancel()
	}
	token, err := o.tokenFor(ctx, address)
	if err != nil { // before the client waits for a server
		return nil, err
	}
	raw, err := o.Dial(ctx, "tcp", address)
	if err != nil {
		switch {
		case ctx.Err() != nil:
			err = contextError(ctx)
		case errors.Is(err, context.DeadlineExceeded):
			// A time limit of Dial itself. It is joined as text: errors.Is would take it
			// for the caller's limit.
			err = fmt.Errorf("%w: %v", ErrConnectTimeout, err) //nolint:errorlint // see above
		}
		return nil, err
	}
	h := handshake{o: o, address: address, clientID: id.client[:], token: token, conn: raw}
	protection, err := h.run(ctx)
	if err != nil {
		raw.Close() // the handshake's error says more
		return nil, err
	}
	return newConn(raw, protection, address, o, id), nil
}
