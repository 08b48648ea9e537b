package yarnrpc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// read takes answers until the connection ends.
func (c *Conn) read() {
	r := bufio.NewReader(c.conn)
	for {
		frame, err := wire.ReadFrame(r, c.o.MaxResponse)
		if err != nil {
			c.end(c.explain(err), true)
			return
		}
		response, err := wire.ParseResponse(frame)
		if err != nil {
			c.end(err, true)
			return
		}
		if !c.take(response) {
			return
		}
	}
}

// explain prefers the writer's fault over that of reading after it.
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
		c.end(fmt.Errorf("%w: answer for another client", wire.ErrMalformed), true)
		return false
	}
	if r.CallID < 0 {
		// Not about a call: the server refuses the connection, so no call was executed.
		if r.Failure == nil {
			c.end(fmt.Errorf("%w: answer to call %d", wire.ErrMalformed, r.CallID), true)
		} else {
			c.end(c.remote("", r.Failure), false)
		}
		return false
	}
	call := c.remove(r.CallID)
	if r.Failure != nil && r.Failure.Fatal { // before the caller can try again here
		c.end(c.remote("", r.Failure), true)
	}
	if call != nil {
		call.outcome <- outcome{response: r}
	} else {
		// Its caller has left; the answer is late.
		c.log.WithField("call", r.CallID).Debug("answer without a caller dropped")
	}
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

// remove takes a call from those that wait for an answer; nil if it does not wait.
func (c *Conn) remove(id int32) *pendingCall {
	c.mu.Lock()
	now := time.Now()
	c.heard = now
	call := c.pending[id]
	delete(c.pending, id)
	if call != nil {
		c.used = now
	}
	last := c.retired && len(c.pending) == 0 && c.err == nil
	c.mu.Unlock()
	if last {
		c.end(ErrClosed, false)
	}
	return call
}

func (c *Conn) remote(method string, f *wire.Failure) error {
	if _, stack, more := strings.Cut(f.Message, "\n"); more {
		c.log.WithFields(logrus.Fields{"method": method, "class": f.Class, "stack": stack}).Debug("exception from server")
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
