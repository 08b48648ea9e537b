package yarnrpc

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync"

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

// unwrap gives what a server's frame protects, which is a part of it. Servers put each
// answer into one, however long.
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

// protectedConn is a connection under protection, for those who know of none. After an
// error in the middle of a wrapper the rest cannot be read, so a direction that has
// failed once stays failed.
type protectedConn struct {
	net.Conn
	protection *protection

	writing  sync.Mutex // guards frame, writeErr and the order of wrapped frames
	frame    []byte     // the last that was sent
	writeErr error

	reading sync.Mutex // guards inbox, plain and readErr
	inbox   wire.Inbox
	plain   []byte // of the inbox, unwrapped and not read yet
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
		inbox:      wire.Inbox{Limit: min(maxResponse, math.MaxInt32-wrapping) + wrapping},
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

func (c *protectedConn) writeWrapped(part []byte) (err error) {
	if c.frame, err = c.protection.wrap(kept(c.frame), part); err != nil {
		return err
	}
	_, err = c.Conn.Write(c.frame)
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
	for {
		frame, err := c.inbox.Next()
		if err != nil {
			return nil, err
		}
		if frame != nil {
			return c.protection.unwrap(frame)
		}
		n, err := c.Conn.Read(c.inbox.Room())
		c.inbox.Came(n)
		if n > 0 || err == nil {
			continue // an error that came with bytes comes again
		}
		if errors.Is(err, io.EOF) && c.inbox.Torn() {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
}
