package yarnrpc

import (
	"math"
	"time"
)

// keep checks the connection until it ends, and then closes it. One timer serves all its
// calls.
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

// upkeepInterval is the longest time between two checks. No call that is made meanwhile
// has an earlier time limit.
func (c *Conn) upkeepInterval() time.Duration {
	interval := time.Duration(math.MaxInt64)
	for _, d := range []time.Duration{c.o.PingInterval, c.o.MaxIdle, c.o.RPCTimeout} {
		if d > 0 {
			interval = min(interval, d)
		}
	}
	return interval
}

// upkeep pings a silent server that owes answers, gives up calls whose time is over, and
// ends an unused connection. It returns the time until the next check.
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
			c.retired = true // under the same lock, so no call can come in between
		} else {
			next = min(next, due)
		}
	}
	c.mu.Unlock()
	switch {
	case silent: // nothing has come since the call began: the server may be gone
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
