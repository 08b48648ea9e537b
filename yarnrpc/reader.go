package yarnrpc

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// read is the reader: it takes answers until the connection ends.
func (c *Conn) read() {
	for {
		if n, err := c.conn.Read(c.inbox.Room()); !c.came(n, err) {
			return
		}
	}
}

// came handles n bytes that were read into the inbox before err. It reports whether more
// can follow.
func (c *Conn) came(n int, err error) bool {
	c.inbox.Came(n)
	take := c.takeFrame
	if c.protection != nil {
		take = c.takeWrapped
	}
	if !c.takeAll(&c.inbox, take) {
		return false
	}
	if errors.Is(err, io.EOF) && (c.inbox.Torn() || c.unwrapped.Torn()) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		c.end(c.explain(err), true)
	}
	return err == nil
}

// takeAll handles the complete frames.
func (c *Conn) takeAll(in *wire.Inbox, take func(frame []byte) bool) bool {
	for {
		frame, err := in.Next()
		if err != nil {
			c.end(c.explain(err), true)
			return false
		}
		if frame == nil {
			return true
		}
		if !take(frame) {
			return false
		}
	}
}

// takeWrapped handles the frames that a wrapper holds.
func (c *Conn) takeWrapped(frame []byte) bool {
	plain, err := c.protection.unwrap(frame)
	if err != nil {
		c.end(c.explain(err), true)
		return false
	}
	c.unwrapped.Put(plain)
	return c.takeAll(&c.unwrapped, c.takeFrame)
}

func (c *Conn) takeFrame(frame []byte) bool {
	response, err := wire.ParseResponse(frame)
	if err != nil {
		c.end(err, true)
		return false
	}
	return c.take(response)
}

// explain returns the writer's error, if there is one, instead of the later read error.
func (c *Conn) explain(readErr error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.writeErr != nil:
		return fmt.Errorf("write: %w", c.writeErr)
	case errors.Is(readErr, io.EOF):
		return fmt.Errorf("the server closed the connection: %w", readErr)
	default:
		return fmt.Errorf("read: %w", readErr)
	}
}

// take hands an answer to the call it is for. It reports whether more can follow.
func (c *Conn) take(r wire.Response) bool {
	if len(r.ClientID) > 0 && string(r.ClientID) != string(c.identity.client[:]) {
		c.end(fmt.Errorf("%w: an answer for another client", wire.ErrMalformed), true)
		return false
	}
	if r.CallID < 0 {
		// The answer is not for a call: the server refuses the connection. It has executed
		// no call, unless it has answered one.
		if r.Failure == nil {
			c.end(fmt.Errorf("%w: unexpected answer to call %d", wire.ErrMalformed, r.CallID), true)
		} else {
			c.end(refused(c.o.User, c.o.Login == nil && !c.o.RequireLogin, c.remote("", r.Failure)), c.answered)
		}
		return false
	}
	c.answered = true
	call := c.remove(r.CallID)
	if r.Failure != nil && r.Failure.Fatal { // before the caller can try again here
		c.end(refused(c.o.User, c.o.Login == nil && !c.o.RequireLogin, c.remote("", r.Failure)), true)
	}
	if call != nil {
		call.answer = r.Keep(call.answer)
		call.outcome <- outcome{response: r}
	} else {
		// Its caller has left; the answer is late.
		c.log.Debug("dropped an answer whose caller has left", "call", r.CallID)
	}
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

// remove removes a call from the pending calls. It returns nil if the call is not pending.
func (c *Conn) remove(id int32) *pendingCall {
	c.mu.Lock()
	c.heard = time.Now()
	call := c.pending[id]
	if call != nil {
		c.forget(call)
		c.used = c.heard
	}
	last := c.last()
	c.mu.Unlock()
	if last {
		c.end(ErrClosed, false)
	}
	return call
}

func (c *Conn) remote(method string, f *wire.Failure) error {
	if _, stack, more := strings.Cut(f.Message, "\n"); more {
		c.log.Debug("exception from server", "method", method, "class", f.Class, "stack", stack)
	}
	return remoteError(c.address, method, f)
}

func remoteError(address, method string, f *wire.Failure) *RemoteError {
	message, _, _ := strings.Cut(f.Message, "\n")
	return &RemoteError{
		Address: address,
		Method:  method,
		Class:   f.Class,
		Message: strings.TrimSpace(message),
		Detail:  f.Detail,
	}
}
