package bubble

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// window bounds what is under way in one direction, in bytes, as the buffers of kernels do.
const window = 1 << 20

// pipe is one direction of a connection: bytes arrive in order, after the time that the network takes.
type pipe struct {
	delay func() time.Duration

	mu      sync.Mutex
	changed chan struct{} // is closed, and replaced, when something changes
	chunks  []chunk
	size    int       // of all chunks
	last    time.Time // when the latest chunk arrives
	frozen  time.Time // nothing arrives before
	ended   bool      // the writer has closed: end of file behind the chunks
	gone    bool      // the reader has closed
	cut     bool
	limits  [2]time.Time // deadlines of the reader and of the writer; zero: none
}

// Indexes of pipe.limits.
const (
	reader = iota
	writer
)

type chunk struct {
	at   time.Time // of its arrival
	data []byte
}

func newPipe(delay func() time.Duration) *pipe {
	return &pipe{delay: delay, changed: make(chan struct{})}
}

// change changes the pipe, and wakes all that wait at it.
func (p *pipe) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	close(p.changed)
	p.changed = make(chan struct{})
}

// await calls step until it is done. Before each further call it waits for a change, for the time that
// step returns, or for the deadline.
func (p *pipe) await(side int, step func(now time.Time) (done bool, next time.Time, err error)) error {
	for {
		p.mu.Lock()
		now, limit, changed := time.Now(), p.limits[side], p.changed
		if !limit.IsZero() && !now.Before(limit) {
			p.mu.Unlock()
			return os.ErrDeadlineExceeded
		}
		done, next, err := step(now)
		p.mu.Unlock()
		if done || err != nil {
			return err
		}
		if next.IsZero() || !limit.IsZero() && limit.Before(next) {
			next = limit
		}
		if next.IsZero() {
			<-changed
			continue
		}
		timer := time.NewTimer(next.Sub(now))
		select {
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// arrival returns when something that is sent now arrives: never before what was sent earlier.
func (p *pipe) arrival(now time.Time) time.Time {
	if at := now.Add(p.delay()); at.After(p.last) {
		p.last = at
	}
	return p.last
}

func (p *pipe) write(b []byte) (written int, err error) {
	err = p.await(writer, func(now time.Time) (bool, time.Time, error) {
		switch {
		case p.ended:
			return false, time.Time{}, net.ErrClosed
		case p.cut:
			return false, time.Time{}, syscall.ECONNRESET
		case p.gone:
			return false, time.Time{}, syscall.EPIPE
		}
		n := min(len(b)-written, window-p.size)
		if n > 0 {
			p.chunks = append(p.chunks, chunk{p.arrival(now), append([]byte(nil), b[written:written+n]...)})
			p.size += n
			written += n
			close(p.changed)
			p.changed = make(chan struct{})
		}
		return written == len(b), time.Time{}, nil
	})
	return written, err
}

func (p *pipe) read(b []byte) (n int, err error) {
	err = p.await(reader, func(now time.Time) (bool, time.Time, error) {
		switch {
		case p.gone:
			return false, time.Time{}, net.ErrClosed
		case p.cut:
			return false, time.Time{}, syscall.ECONNRESET
		case len(b) == 0:
			return true, time.Time{}, nil
		case len(p.chunks) == 0 && !p.ended:
			return false, time.Time{}, nil
		}
		at := p.last // of the end of file
		if len(p.chunks) > 0 {
			at = p.chunks[0].at
		}
		if p.frozen.After(at) {
			at = p.frozen
		}
		switch {
		case now.Before(at):
			return false, at, nil
		case len(p.chunks) == 0:
			return false, time.Time{}, io.EOF
		}
		first := &p.chunks[0]
		n = copy(b, first.data)
		if first.data = first.data[n:]; len(first.data) == 0 {
			p.chunks = p.chunks[1:]
		}
		p.size -= n
		close(p.changed)
		p.changed = make(chan struct{})
		return true, time.Time{}, nil
	})
	return n, err
}

// conn is one end of a connection.
type conn struct {
	in, out      *pipe
	local, other address
	closed       func(*conn) // is told of Close
}

var _ net.Conn = (*conn)(nil)

// address is the address of an end, as host:port.
type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }

// newPair makes a connection.
func newPair(near, far address, delay func() time.Duration) (*conn, *conn) {
	there, back := newPipe(delay), newPipe(delay)
	return &conn{in: back, out: there, local: near, other: far}, &conn{in: there, out: back, local: far, other: near}
}

func (c *conn) Read(b []byte) (int, error)  { return c.in.read(b) }
func (c *conn) Write(b []byte) (int, error) { return c.out.write(b) }
func (c *conn) LocalAddr() net.Addr         { return c.local }
func (c *conn) RemoteAddr() net.Addr        { return c.other }

// Close ends the connection. What was written before still arrives.
func (c *conn) Close() error {
	c.in.change(func() { c.in.gone = true })
	c.out.change(func() {
		if !c.out.ended {
			c.out.ended = true
			c.out.arrival(time.Now())
		}
	})
	if c.closed != nil {
		c.closed(c)
	}
	return nil
}

func (c *conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.change(func() { c.in.limits[reader] = t })
	return nil
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.out.change(func() { c.out.limits[writer] = t })
	return nil
}

// cut ends the connection from outside. Both ends notice, and what is under way is lost.
func (c *conn) cut() {
	for _, p := range []*pipe{c.in, c.out} {
		p.change(func() { p.cut = true })
	}
}

// freeze holds everything back until a time.
func (c *conn) freeze(until time.Time) {
	for _, p := range []*pipe{c.in, c.out} {
		p.change(func() {
			if until.After(p.frozen) {
				p.frozen = until
			}
		})
	}
}
