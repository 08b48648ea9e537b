package yarnrpc

import (
	"math"
	"time"
)

// keep looks after the connection until it ends, and closes it then: one timer serves all
// its calls.
func (c *Conn) keep() {
	wake := time.NewTimer(c.upkeepInterval())
	defer wake.Stop()
	for {
		select {
		case <-wake.C:
			wake.Reset(c.upkeep())
		case <-c.ended:
			c.conn.Close() // why it ended says more
			return
		}
	}
}

// upkeepInterval is the longest that the connection may be left alone. A call that is
// made meanwhile has no time limit before.
func (c *Conn) upkeepInterval() time.Duration {
	interval := time.Duration(math.MaxInt64)
	for _, d := range []time.Duration{c.o.PingInterval, c.o.MaxIdle, c.o.RPCTimeout} {
		if d > 0 {
			interval = min(interval, d)
		}
	}
	return interval
}

// upkeep pings a server that owes answers and is silent, gives up the calls whose time
// is over, and ends a connection that nobody uses. It says when to look again.
func (c *Conn) upkeep() (next time.Duration) {
	next = c.upkeepInterval()
	idle, ping, silent := false, false, false
	now := time.Now()
	c.mu.Lock()
	var late []*pendingCall
	if c.o.RPCTimeout > 0 {
		for _, call := range c.pending {
			if due := call.began.Add(c.o.RPCTimeout).Sub(now); due > 0 {
				next = min(next, due)
			} else {
				late = append(late, call)
			}
		}
	}
	for _, call := range late {
		c.forget(call)
		c.used = now
		silent = silent || !c.heard.After(call.began)
	}
	last := c.last()
	switch {
	case len(c.pending) > 0 && c.o.PingInterval > 0:
		due := later(c.heard, c.pinged).Add(c.o.PingInterval).Sub(now)
		if due <= 0 {
			c.pinged, c.ping, ping = now, true, true
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
	switch {
	case silent: // not a word since the call began: there may be nobody any more
		c.end(ErrTimeout, true)
	case idle || last:
		c.end(ErrClosed, false)
	case ping:
		c.wakeWriter()
	}
	for _, call := range late {
		call.outcome <- outcome{err: ErrTimeout, maybeSent: call.sent}
	}
	return next
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
