package exchange

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
)

// Bubble connects hosts without sockets, which a bubble of testing/synctest cannot have. It has one listener.
type Bubble struct {
	conns  chan net.Conn
	closed chan struct{}
	close  sync.Once
}

// NewBubble makes the network of a listener.
func NewBubble() *Bubble {
	return &Bubble{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Listen is for Config.Listen.
func (b *Bubble) Listen(context.Context, string, string) (net.Listener, error) { return b, nil }

// Dial is for Config.Dial. It waits until the connection is accepted.
func (b *Bubble) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case b.conns <- pipe{far}:
		return near, nil
	case <-b.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// pipe is an end of a net.Pipe with the errors of a socket.
type pipe struct{ net.Conn }

// Read implements net.Conn.
func (p pipe) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if errors.Is(err, io.ErrClosedPipe) {
		err = net.ErrClosed
	}
	return n, err
}

// Accept implements net.Listener.
func (b *Bubble) Accept() (net.Conn, error) {
	select {
	case conn := <-b.conns:
		return conn, nil
	case <-b.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (b *Bubble) Close() error {
	b.close.Do(func() { close(b.closed) })
	return nil
}

// Addr implements net.Listener.
func (b *Bubble) Addr() net.Addr { return &net.UnixAddr{Name: "node1:1", Net: "bubble"} }
