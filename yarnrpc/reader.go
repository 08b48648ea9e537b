package yarnrpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// Who has made c.reading true reads, for all calls, and hands that on before he stops:
// a caller who waits for an answer, or the reader, a goroutine.
//
// An answer is often less than a millisecond away. To park for that long, and to be
// woken by the runtime's poller, costs more than all else that is done for a call: a
// thread that looks for work that others have, one that watches them. Who waits for the
// socket in the kernel spares that, and spares a caller who does so himself the switch
// from the reader to him.

const (
	// patience is how long an answer is waited for in the kernel. The end of the caller's
	// context, and Close, may be noticed so much later.
	patience = time.Millisecond
	// quiet is how long after an answer the reader waits for news of the connection, where
	// callers read their answers themselves.
	quiet = 50 * time.Millisecond
)

// lead makes a caller read until call has its outcome or ctx ends, if that is soon.
func (c *Conn) lead(ctx context.Context, call *pendingCall) {
	for len(call.outcome) == 0 && ctx.Err() == nil && time.Since(call.began) < patience {
		n, err := c.socket.tryRead(c.inbox.Room(), patience)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if !c.came(n, err) {
			return
		}
	}
	c.mu.Lock()
	c.reading = len(c.pending) > 0
	handOn := c.reading
	c.mu.Unlock()
	if handOn {
		c.resume <- struct{}{}
	}
}

// read is the reader: it reads while calls wait, unless a caller does, and when there
// have been none for a while.
func (c *Conn) read() {
	look := time.NewTimer(quiet)
	defer look.Stop()
	for {
		select {
		case <-c.resume:
		case <-look.C:
			if !c.takeQuiet() {
				look.Reset(quiet)
				continue
			}
		case <-c.ended:
			return
		}
		for goesOn, near := c.keepsReading(); goesOn; goesOn, near = c.keepsReading() {
			if n, err := c.readSome(near); !c.came(n, err) {
				return
			}
		}
		look.Reset(quiet)
	}
}

// takeQuiet makes the reader read if nobody does or seems about to.
func (c *Conn) takeQuiet() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reading || time.Since(c.heard) < quiet {
		return false
	}
	c.reading, c.brisk = true, false
	return true
}

// keepsReading reports whether the reader goes on, and whether an answer is near: some
// are still to come, and one came just now. Where calls come closely one after another
// he leaves the next answer to its caller.
func (c *Conn) keepsReading() (goesOn, near bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := len(c.pending) > 0
	c.reading = waiting || !c.brisk || !c.polls
	return c.reading, waiting && c.polls && time.Since(c.heard) < patience
}

// readSome reads what comes next.
func (c *Conn) readSome(near bool) (int, error) {
	if near {
		runtime.Gosched() // those who have their answers run before this goroutine keeps their processor waiting
		n, err := c.socket.tryRead(c.inbox.Room(), patience)
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
	return c.conn.Read(c.inbox.Room())
}

// came takes the answers in n bytes that were read into the inbox before err. It
// reports whether more can follow.
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

// takeAll takes the frames that are whole.
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

// takeWrapped takes what a frame protects.
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
		// Not about a call: the server refuses the connection, and that before any call was
		// executed, unless it has answered one.
		if r.Failure == nil {
			c.end(fmt.Errorf("%w: answer to call %d", wire.ErrMalformed, r.CallID), true)
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
		c.log.Debug("answer without a caller dropped", "call", r.CallID)
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
	before := c.heard
	c.heard = now
	call := c.pending[id]
	if call != nil {
		c.forget(call)
		c.brisk = call.began.Sub(before) < quiet && now.Sub(call.began) < patience
		c.used = now
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
