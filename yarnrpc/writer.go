package yarnrpc

import (
	"fmt"
	"runtime"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// Who has made c.writing true writes, and looks for more before that is false again:
// a caller, as long as the kernel takes what there is at once, or else a goroutine.

const (
	// batchBytes is about how much goes out with one write, in bytes.
	batchBytes = 64 << 10
	// callerWrites is how often a caller writes for others before it looks after its
	// own call.
	callerWrites = 4
)

// flush writes what is queued, of which the kernel takes at once what it can. crowded:
// others are making calls.
func (c *Conn) flush(crowded bool) {
	if c.socket == nil {
		c.startWriter(nil)
		return
	}
	if crowded {
		runtime.Gosched() // callers that are about to queue theirs spare themselves a write
	}
	for range callerWrites {
		batch, err := c.batch()
		if err != nil {
			c.stopWriting(err)
			return
		}
		if batch == nil {
			return
		}
		n, err := c.socket.tryWrite(batch)
		if err != nil {
			c.stopWriting(err)
			return
		}
		if n < len(batch) {
			c.startWriter(batch[n:])
			return
		}
	}
	c.startWriter(nil)
}

// startWriter makes a goroutine go on with writing, first with the rest of a batch, which
// ends when all is written or the connection ends.
func (c *Conn) startWriter(rest []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.tasks.Go(func() { c.write(rest) })
	}
}

// write writes batch and what is queued.
func (c *Conn) write(batch []byte) {
	for {
		var err error
		if len(batch) > 0 {
			err = c.writeOut(batch)
		}
		if err == nil {
			batch, err = c.batch()
		}
		if err != nil {
			c.stopWriting(err)
			return
		}
		if batch == nil {
			return
		}
	}
}

// writeOut writes for no longer than a call may take. The limit is none of the next
// batch's: a caller may write that, much later.
func (c *Conn) writeOut(b []byte) error {
	if c.o.RPCTimeout > 0 {
		if err := c.conn.SetWriteDeadline(time.Now().Add(c.o.RPCTimeout)); err != nil {
			return err
		}
	}
	if _, err := c.conn.Write(b); err != nil {
		return err
	}
	c.conn.SetWriteDeadline(time.Time{}) //nolint:errcheck // all is written: of a connection that has ended since, who reads tells
	return nil
}

// batch takes what is queued, up to batchBytes or one call, as bytes for the wire, which are
// good until the next batch. Nil if there is nothing; then nobody writes any more.
func (c *Conn) batch() ([]byte, error) {
	frames := kept(c.frames)
	c.wrapped = kept(c.wrapped)
	c.mu.Lock()
	if c.ping {
		frames, c.ping = wire.AppendPing(frames, c.identity.client[:]), false
	}
	taken := 0
	for _, call := range c.outgoing {
		if len(frames) > 0 && len(frames)+len(call.frame) > batchBytes {
			break
		}
		frames = append(frames, call.frame...)
		call.sent = true
		taken++
	}
	c.outgoing = append(c.outgoing[:0], c.outgoing[taken:]...)
	c.frames, c.writing = frames, len(frames) > 0
	c.mu.Unlock()
	if len(frames) == 0 {
		return nil, nil
	}
	if c.protection == nil {
		return frames, nil
	}
	var err error
	c.wrapped, err = c.protection.wrap(c.wrapped, frames)
	return c.wrapped, err
}

// lastWords is how long a server that does not take our bytes any more has for
// saying why.
const lastWords = time.Second

// stopWriting leaves the end of the connection to who reads, as a server that refuses
// us says so before it closes.
func (c *Conn) stopWriting(err error) {
	c.mu.Lock()
	c.writeErr = err
	c.mu.Unlock()
	if deadlineErr := c.conn.SetReadDeadline(time.Now().Add(lastWords)); deadlineErr != nil {
		c.end(fmt.Errorf("write: %w", err), true)
	}
}
