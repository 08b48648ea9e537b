package yarnrpc

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// batchBytes is the approximate size of one write, in bytes. Calls that come during a write
// share the next one.
const batchBytes = 64 << 10

// wakeWriter signals the writer that something is queued.
func (c *Conn) wakeWriter() {
	select {
	case c.queued <- struct{}{}:
	default: // a signal is waiting already
	}
}

// write is the writer: it writes queued calls until the connection ends, or a write fails.
func (c *Conn) write() {
	for {
		select {
		case <-c.queued:
		case <-c.ended:
			return
		}
		for {
			batch, err := c.batch()
			if err == nil && batch == nil {
				break
			}
			if err == nil {
				err = c.writeOut(batch)
			}
			if err != nil {
				c.stopWriting(err)
				return
			}
		}
	}
}

// writeOut writes b within the time limit of a call.
func (c *Conn) writeOut(b []byte) error {
	if c.o.RPCTimeout > 0 {
		if err := c.conn.SetWriteDeadline(time.Now().Add(c.o.RPCTimeout)); err != nil {
			return err
		}
	}
	_, err := c.conn.Write(b)
	return err
}

// batch returns the queued calls as bytes for the wire, up to batchBytes or one call. The
// bytes are valid until the next batch. Nil: nothing is queued.
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
	c.frames = frames
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

// lastWords is the time that a server has to say why it takes no more bytes.
const lastWords = time.Second

// stopWriting leaves the end of the connection to the reader: a server that refuses the
// client sends the reason before it closes.
func (c *Conn) stopWriting(err error) {
	c.mu.Lock()
	c.writeErr = err
	c.mu.Unlock()
	if deadlineErr := c.conn.SetReadDeadline(time.Now().Add(lastWords)); deadlineErr != nil {
		c.end(fmt.Errorf("write: %w", err), true)
	}
}
