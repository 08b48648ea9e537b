package yarnrpc

import (
	"fmt"
	"math"
	"net"
	"sync"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// protection passes a byte stream through a SASL layer: what is written goes out in
// frames of wrapped bytes, what is read was unwrapped from such frames. A frame of the
// stream may share a wrapper with others or span several. Each direction is for one
// goroutine at a time, and after an error it is of no further use.
type protection struct {
	layer  sasl.Layer
	server string // address, for errors
}

// wrap adds the protected form of plain to b.
func (p *protection) wrap(b, plain []byte) ([]byte, error) {
	for len(plain) > 0 {
		part := plain[:min(len(plain), p.layer.MaxMessage())]
		plain = plain[len(part):]
		token, err := p.layer.Wrap(part)
		if err != nil {
			return b, err
		}
		b, err = wire.AppendSASL(b, &commonpb.RpcSaslProto{
			State: commonpb.RpcSaslProto_WRAP.Enum(),
			Token: token,
		})
		if err != nil {
			return b, err
		}
	}
	return b, nil
}

// unwrap gives what a server's frame protects. Servers put each answer into one, however
// long.
func (p *protection) unwrap(frame []byte) ([]byte, error) {
	response, err := wire.ParseResponse(frame)
	if err != nil {
		return nil, err
	}
	if response.Failure != nil {
		return nil, remoteError(p.server, "", response.Failure)
	}
	var wrapped commonpb.RpcSaslProto
	if response.CallID != wire.CallSASL {
		return nil, fmt.Errorf("%w: an unprotected answer on a protected connection", wire.ErrMalformed)
	}
	if err := response.Decode(&wrapped); err != nil {
		return nil, err
	}
	if wrapped.GetState() != commonpb.RpcSaslProto_WRAP {
		return nil, unexpectedState(&wrapped)
	}
	return p.layer.Unwrap(wrapped.GetToken())
}

// protectedConn is a connection under protection, for those who know of none. After an
// error in the middle of a wrapper the rest cannot be read, so a direction that has
// failed once stays failed.
type protectedConn struct {
	net.Conn
	protection *protection
	limit      int // of a wrapper that is read, in bytes

	writing  sync.Mutex // guards writeErr and the order of wrapped frames
	writeErr error

	reading sync.Mutex // guards plain and readErr
	plain   []byte     // unwrapped and not read yet
	readErr error
}

// wrapping is more than a server adds to an answer to protect it: the answer's own
// length, headers, checksum and padding, in bytes.
const wrapping = 1 << 10

// newProtectedConn makes a connection whose server puts each answer, of at most
// maxResponse bytes, into one wrapper.
func newProtectedConn(conn net.Conn, layer sasl.Layer, maxResponse int) *protectedConn {
	return &protectedConn{
		Conn:       conn,
		protection: &protection{layer: layer, server: conn.RemoteAddr().String()},
		limit:      min(maxResponse, math.MaxInt32-wrapping) + wrapping,
	}
}

func (c *protectedConn) Write(p []byte) (n int, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	for len(p) > 0 && c.writeErr == nil {
		part := p[:min(len(p), c.protection.layer.MaxMessage())]
		if c.writeErr = c.writeWrapped(part); c.writeErr == nil {
			p = p[len(part):]
			n += len(part)
		}
	}
	return n, c.writeErr
}

func (c *protectedConn) writeWrapped(part []byte) error {
	frame, err := c.protection.wrap(nil, part)
	if err != nil {
		return err
	}
	_, err = c.Conn.Write(frame)
	return err
}

func (c *protectedConn) Read(p []byte) (int, error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	for len(c.plain) == 0 && c.readErr == nil {
		c.plain, c.readErr = c.readWrapped()
	}
	if len(c.plain) == 0 {
		return 0, c.readErr
	}
	n := copy(p, c.plain)
	c.plain = c.plain[n:]
	return n, nil
}

func (c *protectedConn) readWrapped() ([]byte, error) {
	frame, err := wire.ReadFrame(c.Conn, c.limit)
	if err != nil {
		return nil, err
	}
	return c.protection.unwrap(frame)
}
