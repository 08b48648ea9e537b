package rolerpc

import (
	"context"
	"fmt"
	"sync"
)

// Dialer opens streams to whichever ApplicationMaster leads: it has one Conn for each address. The Conn of the address
// that was asked for last stays without streams, so that an attempt to connect goes on between two calls. Any other Conn
// goes with its last stream. Its methods may be called from any goroutine.
type Dialer struct {
	config  Config
	closing sync.WaitGroup // the Conns that are being closed

	mu     sync.Mutex // guards what follows
	conns  map[string]*sharedConn
	latest string // the address that was asked for last
	closed bool
}

type sharedConn struct {
	*Conn

	streams int // opening or open; guarded by the Dialer's mutex
}

// NewDialer makes a Dialer. It connects when a stream is opened.
func NewDialer(config Config) *Dialer {
	return &Dialer{config: config, conns: make(map[string]*sharedConn)}
}

// Open opens a stream to a role at "host:port", as Conn.Open does.
func (d *Dialer) Open(ctx context.Context, address, target string, h Handler) (*Stream, error) {
	conn, err := d.take(address)
	if err != nil {
		return nil, fmt.Errorf("open stream to %s: %w", target, err)
	}
	stream, err := conn.Open(ctx, target, countedHandler{h, func() { d.release(conn) }})
	if err != nil {
		d.release(conn)
	}
	return stream, err
}

func (d *Dialer) take(address string) (*sharedConn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, errConnClosed
	}
	conn := d.conns[address]
	if conn == nil {
		made, err := NewConn(address, d.config)
		if err != nil {
			return nil, err
		}
		conn = &sharedConn{Conn: made}
		d.conns[address] = conn
	}
	conn.streams++
	last := d.conns[d.latest]
	d.latest = address
	if last != nil {
		d.closeUnused(last)
	}
	return conn, nil
}

func (d *Dialer) release(conn *sharedConn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	conn.streams--
	d.closeUnused(conn)
}

// closeUnused closes a Conn to an earlier address without streams, in another goroutine: Conn.Close waits for the
// handlers, which call release. d.mu is held.
func (d *Dialer) closeUnused(conn *sharedConn) {
	if conn.streams > 0 || conn.address == d.latest || d.closed {
		return
	}
	delete(d.conns, conn.address)
	d.closing.Go(func() { d.close(conn) })
}

func (d *Dialer) close(conn *sharedConn) {
	if err := conn.Close(); err != nil {
		d.config.Logger.WithError(err).Warn("connection cannot be closed")
	}
}

// Close cuts all connections, and waits for the streams' handlers. A handler must not call it.
func (d *Dialer) Close() {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	for _, conn := range d.conns { // nothing changes them any more
		d.close(conn)
	}
	d.closing.Wait()
}

// countedHandler tells when its stream has ended.
type countedHandler struct {
	Handler

	ended func()
}

// Closed implements Handler.
func (h countedHandler) Closed(ctx context.Context, cause error) {
	h.Handler.Closed(ctx, cause)
	h.ended()
}
