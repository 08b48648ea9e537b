package yarnrpc

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// protection passes a byte stream through a SASL layer. Written bytes leave in frames of
// wrapped bytes, and read bytes were unwrapped from such frames. A frame of the stream
// may share a wrapper with others or span several. One goroutine at a time may use each
// direction. After an error the direction is unusable.
type protection struct {
	layer  sasl.Layer
	server string // address, for errors
	token  []byte // the last that was sent
}

// wrap adds the protected form of plain to b.
func (p *protection) wrap(b, plain []byte) (_ []byte, err error) {
	for len(plain) > 0 {
		part := plain[:min(len(plain), p.layer.MaxMessage())]
		plain = plain[len(part):]
		if p.token, err = p.layer.AppendWrap(kept(p.token), part); err != nil {
			return b, err
		}
		if b, err = wire.AppendWrapped(b, p.token); err != nil {
			return b, err
		}
	}
	return b, nil
}

// unwrap returns the bytes that a server's frame protects. They are a part of the frame.
// Servers put each answer into one wrapper, however long it is.
func (p *protection) unwrap(frame []byte) ([]byte, error) {
	response, err := wire.ParseResponse(frame)
	if err != nil {
		return nil, err
	}
	if response.Failure != nil {
		return nil, remoteError(p.server, "", response.Failure)
	}
	if response.CallID != wire.CallSASL {
		return nil, fmt.Errorf("%w: an unprotected answer on a protected connection", wire.ErrMalformed)
	}
	token, err := response.Wrapped()
	if err != nil {
		return nil, err
	}
	return p.layer.Unwrap(token)
}

// wrapping is an upper bound, in bytes, for what a server adds to an answer to protect
// it: the answer's own length, headers, checksum and padding.
const wrapping = 1 << 10
