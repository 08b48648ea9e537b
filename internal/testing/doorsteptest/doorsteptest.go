// Package doorsteptest sends strangers to the listeners that package doorstep protects, and counts
// what a process holds behind one, for tests of all such ports.
//
// Besiege starts goroutines; its end waits for them. Only tests import the package.
package doorsteptest

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"slices"
	"sync"
)

// Door is a listener that counts connections and bytes of the process behind it. Its methods may be
// called from any goroutine.
type Door struct {
	net.Listener

	mu         sync.Mutex // guards what follows
	open, most int        // connections
	longest    int        // most bytes that were read from one connection
}

// Accept returns the next connection.
func (d *Door) Accept() (net.Conn, error) {
	conn, err := d.Listener.Accept()
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.open++
	d.most = max(d.most, d.open)
	return &counted{Conn: conn, by: d}, nil
}

// Most returns the largest number of connections that were open at a time.
func (d *Door) Most() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.most
}

// Longest returns the largest number of bytes that were read from one connection.
func (d *Door) Longest() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.longest
}

type counted struct {
	net.Conn
	by   *Door
	read int // guarded by the door's mutex
	once sync.Once
}

// NetConn returns the connection below.
func (c *counted) NetConn() net.Conn { return c.Conn }

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.by.mu.Lock()
	defer c.by.mu.Unlock()
	c.read += n
	c.by.longest = max(c.by.longest, c.read)
	return n, err
}

func (c *counted) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.by.mu.Lock()
		defer c.by.mu.Unlock()
		c.by.open--
	})
	return err
}

// Besiege makes this number of strangers open connections to host:port. Each opens another
// connection as soon as the other end closes its last one, and calls say with it. end stops them.
func Besiege(ctx context.Context, address string, strangers int, say func(ctx context.Context, conn net.Conn)) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for range strangers {
		all.Go(func() {
			for ctx.Err() == nil {
				conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
				if err != nil {
					continue // the queue is full
				}
				stop := context.AfterFunc(ctx, func() { conn.Close() })
				say(ctx, conn)
				_, _ = io.Copy(io.Discard, conn)
				stop()
				conn.Close()
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// Shake returns a function that sends at most this many bytes of a TLS handshake with a certificate
// of 200 KiB.
func Shake(config *tls.Config, bytes int) func(context.Context, net.Conn) {
	config = config.Clone()
	config.VerifyConnection = nil
	config.Certificates = slices.Clone(config.Certificates)
	chain := slices.Clone(config.Certificates[0].Certificate)
	for range 4 {
		chain = append(chain, make([]byte, 50<<10))
	}
	config.Certificates[0].Certificate = chain
	return func(ctx context.Context, conn net.Conn) {
		if bytes > 0 {
			_ = tls.Client(&halting{conn, bytes}, config).HandshakeContext(ctx) // the handshake ends with the connection
		}
	}
}

// halting is a connection that drops everything written after the first left bytes.
type halting struct {
	net.Conn
	left int
}

func (h *halting) Write(p []byte) (int, error) {
	n := min(h.left, len(p))
	h.left -= n
	if _, err := h.Conn.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}
