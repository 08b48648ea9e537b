package yarnrpc

import (
	"context"
	"errors"
	"fmt"
	"net"
)

// Open connects to a server and opens the connection as Dial does, within
// Options.ConnectTimeout, for clients that make the calls themselves: see Handshake.
// Of the options, those that are about calls have no meaning.
func Open(ctx context.Context, address string, o Options) (net.Conn, error) {
	opened, err := open(ctx, address, o.withDefaults(), nil)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	return opened, nil
}

func open(ctx context.Context, address string, o Options, clientID []byte) (net.Conn, error) {
	if o.ConnectTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.ConnectTimeout, ErrConnectTimeout)
		defer cancel()
	}
	h, err := newHandshake(ctx, HandshakeOptions{
		Auth: o.Auth, Protocol: o.Protocol, ClientID: clientID, Address: address, MaxResponse: o.MaxResponse,
		Opened: func(s Security) {
			if o.Opened != nil {
				o.Opened(address, s)
			}
		},
	})
	if err != nil { // nor is a server waited for in vain
		return nil, err
	}
	raw, err := o.Dial(ctx, "tcp", address)
	if err != nil {
		switch {
		case ctx.Err() != nil:
			err = contextError(ctx)
		case errors.Is(err, context.DeadlineExceeded):
			// A limit of Dial's own: as text, or it would be taken for the caller's.
			err = fmt.Errorf("%w: %v", ErrConnectTimeout, err) //nolint:errorlint // see above
		}
		return nil, err
	}
	opened, err := h.over(ctx, raw)
	if err != nil {
		raw.Close() // the handshake's error says more
		return nil, err
	}
	return opened, nil
}
