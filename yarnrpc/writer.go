package yarnrpc

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"net"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// write sends what callers queue, and what keeps the connection healthy.
func (c *Conn) write() {
	w := bufio.NewWriter(timedWriter{c.conn, c.o.RPCTimeout})
	wake := time.NewTimer(c.upkeepInterval())
	defer wake.Stop()
	for {
		var err error
		select {
		case call := <-c.queue:
			if c.departs(call) {
				_, err = w.Write(call.frame)
			}
		case <-wake.C:
			var next time.Duration
			next, err = c.upkeep(w)
			wake.Reset(next)
		case <-c.ended:
			return
		}
		if err == nil && len(c.queue) == 0 {
			err = w.Flush()
		}
		if err != nil {
			c.stopWriting(err)
			return
		}
	}
}

// timedWriter gives each write a time limit, if that is more than 0.
type timedWriter struct {
	net.Conn
	limit time.Duration
}

func (w timedWriter) Write(p []byte) (int, error) {
	if w.limit > 0 {
		if err := w.SetWriteDeadline(time.Now().Add(w.limit)); err != nil {
			return 0, err
		}
	}
	return w.Conn.Write(p)
}

// departs notes that a call is about to be sent; false if its caller has left.
func (c *Conn) departs(call *pendingCall) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending[call.id] != call {
		return false
	}
	call.sent = true
	return true
}

// lastWords is how long a server that does not take our bytes any more has for
// saying why.
const lastWords = time.Second

// stopWriting leaves the end of the connection to the reader, as a server that
// refuses us says so before it closes.
func (c *Conn) stopWriting(err error) {
	c.mu.Lock()
	c.writeErr = err
	c.mu.Unlock()
	if deadlineErr := c.conn.SetReadDeadline(time.Now().Add(lastWords)); deadlineErr != nil {
		c.end(fmt.Errorf("write: %w", err), true)
	}
}

// upkeepInterval is the longest the writer may leave the connection alone.
func (c *Conn) upkeepInterval() time.Duration {
	interval := time.Duration(math.MaxInt64)
	for _, d := range []time.Duration{c.o.PingInterval, c.o.MaxIdle} {
		if d > 0 {
			interval = min(interval, d)
		}
	}
	return interval
}

// upkeep pings a server that owes answers and is silent, and ends a connection that
// nobody uses. It says when to look again.
func (c *Conn) upkeep(w io.Writer) (next time.Duration, err error) {
	next = c.upkeepInterval()
	ping, idle := false, false
	now := time.Now()
	c.mu.Lock()
	switch {
	case len(c.pending) > 0 && c.o.PingInterval > 0:
		due := later(c.heard, c.pinged).Add(c.o.PingInterval).Sub(now)
		if ping = due <= 0; ping {
			c.pinged = now
		} else {
			next = min(next, due)
		}
	case len(c.pending) == 0 && c.o.MaxIdle > 0:
		due := c.used.Add(c.o.MaxIdle).Sub(now)
		if idle = due <= 0; idle {
			c.retired = true // under the same lock: nobody has come in between
		} else {
			next = min(next, due)
		}
	}
	c.mu.Unlock()
	if idle {
		c.end(ErrClosed, false)
	}
	if !ping {
		return next, nil
	}
	_, err = w.Write(wire.AppendPing(nil, c.identity.client[:]))
	return next, err
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
