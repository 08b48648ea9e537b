package yarnrpc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// pendingCall is a call between its caller, the writer and the reader.
type pendingCall struct {
	id      int32
	frame   []byte
	sent    bool         // some of it may have left; guarded by Conn.mu while the call is pending
	outcome chan outcome // capacity 1: whoever removes the call from those pending sends one
}

// outcome is an answer, or why there is none.
type outcome struct {
	response  wire.Response
	err       error
	maybeSent bool
}

// call makes one try of a call.
func (c *Conn) call(ctx context.Context, id wire.Call, request, response proto.Message) error {
	frame, err := wire.AppendCall(nil, id, request)
	if err != nil {
		return &CallError{Address: c.address, Method: id.Method, Err: err}
	}
	result := c.exchange(ctx, &pendingCall{id: id.ID, frame: frame, outcome: make(chan outcome, 1)})
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

// exchange queues a call and waits for what becomes of it. Where ctx ends first, the
// other calls do not notice.
func (c *Conn) exchange(ctx context.Context, call *pendingCall) outcome {
	select {
	case c.room <- struct{}{}:
		defer func() { <-c.room }()
	case <-ctx.Done():
		return outcome{err: contextError(ctx)}
	case <-c.ended:
		return outcome{err: c.Err()}
	}
	if c.o.RPCTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.o.RPCTimeout, ErrTimeout)
		defer cancel()
	}
	began := time.Now()
	if err := c.add(call); err != nil {
		return outcome{err: err}
	}
	select {
	case c.queue <- call:
	case <-ctx.Done(): // the writer stands still
	case <-c.ended:
	}
	select {
	case result := <-call.outcome:
		return result
	case <-ctx.Done():
		return c.abandon(ctx, call, began)
	}
}

// add makes a call one that waits for an answer.
func (c *Conn) add(call *pendingCall) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.closed(); err != nil {
		return err
	}
	c.pending[call.id] = call
	return nil
}

// abandon gives up a call whose ctx has ended. If it was the time for an answer that
// passed, and the server has not said anything at all since the call began, there may
// be nobody any more, and the connection ends too.
func (c *Conn) abandon(ctx context.Context, call *pendingCall, began time.Time) outcome {
	c.mu.Lock()
	waiting := c.pending[call.id] == call
	if waiting {
		delete(c.pending, call.id)
		c.used = time.Now()
	}
	silent := !c.heard.After(began)
	last := c.retired && len(c.pending) == 0 && c.err == nil
	sent := call.sent
	c.mu.Unlock()
	if !waiting {
		return <-call.outcome // it came at the same moment
	}
	cause := contextError(ctx)
	switch {
	case silent && errors.Is(cause, ErrTimeout):
		c.end(cause, true)
	case last:
		c.end(ErrClosed, false)
	}
	return outcome{err: cause, maybeSent: sent}
}

// contextError is why ctx has ended: one of our own time limits by its name, and
// anything else with the context's own error, so that errors.Is finds both.
func contextError(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ErrTimeout) || errors.Is(cause, ErrConnectTimeout) || errors.Is(cause, ctx.Err()) {
		return cause
	}
	return fmt.Errorf("%w: %w", ctx.Err(), cause)
}
