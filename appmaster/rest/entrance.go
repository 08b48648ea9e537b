package rest

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/crowd"
	"github.com/bobbin-yarn/bobbin/internal/doorstep"
	"github.com/bobbin-yarn/bobbin/internal/pause"
)

const (
	// firstByteTime is how long a connection may stay silent.
	firstByteTime = 10 * time.Second
	// handshakeTime is how long TLS may take after that.
	handshakeTime = headerTime
	// descriptorWait is the pause after a connection that failed for lack of a file descriptor or memory.
	descriptorWait = 100 * time.Millisecond
	// tlsHandshake is the first byte of a TLS connection; RFC 8446 §5.1.
	tlsHandshake = 0x16
)

// entrance divides the connections of one port by their first byte: no HTTP method begins with TLS' first
// byte. On TLS connections it performs the handshake.
type entrance struct {
	listener net.Listener
	tls      *tls.Config
	secure   *queue
	plain    *queue
	crowd    *crowd.Crowd
	waiting  sync.WaitGroup
}

func newEntrance(l net.Listener, secure *tls.Config, all *crowd.Crowd) *entrance {
	closed := make(chan struct{})
	return &entrance{
		listener: doorstep.New(l),
		tls:      secure,
		secure:   &queue{address: l.Addr(), connections: make(chan net.Conn), closed: closed},
		plain:    &queue{address: l.Addr(), connections: make(chan net.Conn), closed: closed},
		crowd:    all,
	}
}

// run accepts connections until the listener fails or is closed. When run or ctx ends, it closes the
// connections that have sent nothing, and waits for them.
func (e *entrance) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer e.waiting.Wait()
	defer cancel()
	for {
		conn, err := e.listener.Accept()
		if err != nil {
			if passes(err) && pause.For(ctx, descriptorWait) == nil {
				continue
			}
			return err
		}
		entered, err := e.crowd.Enter(ctx, conn)
		if err != nil {
			_ = conn.Close()
			return err
		}
		e.waiting.Go(func() { // ends with the first byte or the TLS handshake, or by their time limits
			e.handOver(ctx, entered)
		})
	}
}

// passes reports whether the port can be served on after an error of Accept: the connection broke, or the
// process or the node is short of a resource.
func passes(err error) bool {
	for _, number := range []syscall.Errno{
		syscall.ECONNABORTED, syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM,
	} {
		if errors.Is(err, number) {
			return true
		}
	}
	return false
}

func (e *entrance) handOver(ctx context.Context, conn net.Conn) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	var first [1]byte
	// If setting the deadline fails, so does the read.
	_ = conn.SetReadDeadline(time.Now().Add(firstByteTime))
	_, err := io.ReadFull(conn, first[:])
	if !stop() || err != nil || conn.SetReadDeadline(time.Time{}) != nil {
		_ = conn.Close() // nothing can use the error
		return
	}
	begun := net.Conn(&begunConn{Conn: conn, begun: first[:]})
	door := e.plain
	if first[0] == tlsHandshake {
		secured := tls.Server(begun, e.tls)
		shaking, cancel := context.WithTimeout(ctx, handshakeTime)
		defer cancel()
		if secured.HandshakeContext(shaking) != nil {
			_ = conn.Close()
			return
		}
		door, begun = e.secure, secured
	}
	doorstep.ReaderBounds(begun) // net/http reads at most maxHeader until a user is let in
	door.put(begun)
}

// close ends run and both queues.
func (e *entrance) close() {
	_ = e.listener.Close()
	close(e.secure.closed) // the plain one's as well
}

// queue is a listener whose connections come from an entrance.
type queue struct {
	address     net.Addr
	connections chan net.Conn // from handOver to Accept; never closed
	closed      chan struct{} // closed by entrance.close
}

func (q *queue) put(conn net.Conn) {
	select {
	case q.connections <- conn:
	case <-q.closed:
		_ = conn.Close()
	}
}

func (q *queue) Accept() (net.Conn, error) {
	select {
	case conn := <-q.connections:
		return conn, nil
	case <-q.closed:
		return nil, net.ErrClosed
	}
}

// Close does nothing: the entrance closes the queue.
func (q *queue) Close() error   { return nil }
func (q *queue) Addr() net.Addr { return q.address }

// begunConn is a connection whose first bytes were already read.
type begunConn struct {
	net.Conn
	begun []byte
}

// NetConn returns the connection below. Packages doorstep and crowd call it.
func (c *begunConn) NetConn() net.Conn { return c.Conn }

func (c *begunConn) Read(p []byte) (int, error) {
	if len(c.begun) > 0 {
		n := copy(p, c.begun)
		c.begun = c.begun[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}
