package yarnrpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// pendingCall is a call between its caller, the writer and the reader. Its caller has it
// from Conn.calls and gives it back.
type pendingCall struct {
	id      int32
	frame   []byte
	began   time.Time
	sent    bool         // some of it may have left; guarded by Conn.mu while the call is pending
	outcome chan outcome // capacity 1: whoever removes the call from those pending sends one
	answer  []byte       // what the outcome's response is read from
}

// outcome is an answer, or why there is none.
type outcome struct {
	response  wire.Response
	err       error
	maybeSent bool
}

// keptBytes is how much each of the buffers may hold that are used again, in bytes.
const keptBytes = 1 << 20

func kept(buffer []byte) []byte {
	if cap(buffer) > keptBytes {
		return nil
	}
	return buffer[:0]
}

// call makes one try of a call.
func (c *Conn) call(ctx context.Context, id wire.Call, request, response proto.Message) error {
	call, reused := c.calls.Get().(*pendingCall)
	if !reused {
		call = &pendingCall{outcome: make(chan outcome, 1)}
	}
	began := time.Now()
	call.id, call.sent, call.began = id.ID, false, began
	err := c.try(ctx, call, id, request, response)
	if c.o.Observe != nil {
		c.o.Observe(tryOf(c.address, id, began, err).with(call))
	}
	call.frame, call.answer = kept(call.frame), kept(call.answer)
	c.calls.Put(call)
	return err
}

func (c *Conn) try(ctx context.Context, call *pendingCall, id wire.Call, request, response proto.Message) (err error) {
	if call.frame, err = wire.AppendCall(call.frame, id, request); err != nil {
		return &CallError{Address: c.address, Method: id.Method, Err: err}
	}
	result := c.exchange(ctx, call)
	switch {
	case result.err != nil:
		return &CallError{Address: c.address, Method: id.Method, MaybeSent: result.maybeSent, Err: result.err}
	case result.response.Failure != nil:
		return c.remote(id.Method, result.response.Failure)
	}
	if err := result.response.Decode(response); err != nil {
		return &CallError{Address: c.address, Method: id.Method, MaybeSent: true, Err: err}
	}
	return nil
}

// exchange sends a call and waits for what becomes of it. Where ctx ends first, the
// other calls do not notice.
func (c *Conn) exchange(ctx context.Context, call *pendingCall) outcome {
	if ctx.Err() != nil {
		return outcome{err: contextError(ctx)}
	}
	select {
	case c.room <- struct{}{}:
	default:
		select {
		case c.room <- struct{}{}:
			call.began = time.Now()
		case <-ctx.Done():
			return outcome{err: contextError(ctx)}
		case <-c.ended:
			return outcome{err: c.Err()}
		}
	}
	defer func() { <-c.room }()
	if err := c.add(call); err != nil {
		return outcome{err: err}
	}
	c.wakeWriter()
	select {
	case result := <-call.outcome:
		return result
	case <-ctx.Done():
		return c.abandon(ctx, call)
	}
}

// add makes a call one that waits for an answer, and queues it.
func (c *Conn) add(call *pendingCall) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.closed(); err != nil {
		return err
	}
	c.pending[call.id] = call
	c.outgoing = append(c.outgoing, call)
	return nil
}

// forget makes a call one that nobody but its caller knows; false if it is already.
// c.mu is held.
func (c *Conn) forget(call *pendingCall) bool {
	if c.pending[call.id] != call {
		return false
	}
	delete(c.pending, call.id)
	if !call.sent {
		if i := slices.Index(c.outgoing, call); i >= 0 {
			c.outgoing = slices.Delete(c.outgoing, i, i+1)
		}
	}
	return true
}

// last reports whether a retired connection has nothing to wait for any more. c.mu is
// held.
func (c *Conn) last() bool { return c.retired && len(c.pending) == 0 && c.err == nil }

// abandon gives up a call whose ctx has ended.
func (c *Conn) abandon(ctx context.Context, call *pendingCall) outcome {
	c.mu.Lock()
	waiting := c.forget(call)
	if waiting {
		c.used = time.Now()
	}
	last, sent := c.last(), call.sent
	c.mu.Unlock()
	if !waiting {
		return <-call.outcome // it came at the same moment
	}
	if last {
		c.end(ErrClosed, false)
	}
	return outcome{err: contextError(ctx), maybeSent: sent}
}

// contextError is why ctx has ended: one of our own time limits by its name, and
// anything else with the context's own error, so that errors.Is finds both.
func contextError(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ErrConnectTimeout) || errors.Is(cause, ctx.Err()) {
		return cause
	}
	return fmt.Errorf("%w: %w", ctx.Err(), cause)
}
