package yarnrpc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pause"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// pendingCall is a call that its caller, the writer and the reader share. The caller
// takes it from Conn.calls and returns it there.
type pendingCall struct {
	id      int32
	frame   []byte
	began   time.Time
	sent    bool         // a part may have been sent; guarded by Conn.mu while the call is pending
	outcome chan outcome // capacity 1; the goroutine that removes the call from Conn.pending sends one
	answer  []byte       // the bytes of the outcome's response
}

// outcome is an answer, or the reason why there is none.
type outcome struct {
	response  wire.Response
	err       error
	maybeSent bool
}

// keptBytes bounds each buffer that is kept for reuse, in bytes.
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

// exchange sends a call and waits for its outcome. The end of ctx does not affect other
// calls.
func (c *Conn) exchange(ctx context.Context, call *pendingCall) outcome {
	if pause.Over(ctx) != nil {
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

// add makes a call pending, and queues it for the writer.
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

// forget removes a call from the pending calls. It returns false if the call is not
// pending. c.mu is held.
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

// last reports whether a retired connection has no pending call any more. c.mu is held.
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
		return <-call.outcome // the outcome came at the same moment
	}
	if last {
		c.end(ErrClosed, false)
	}
	return outcome{err: contextError(ctx), maybeSent: sent}
}

// contextError returns the reason why ctx has ended (pause.Over). A time limit of this package is
// reported by its own error. Any other cause is joined with the context's error, so that
// errors.Is finds both.
func contextError(ctx context.Context) error {
	cause, ended := pause.Over(ctx), ctx.Err()
	if ended == nil || errors.Is(cause, ErrConnectTimeout) || errors.Is(cause, ended) {
		return cause
	}
	return fmt.Errorf("%w: %w", ended, cause)
}
