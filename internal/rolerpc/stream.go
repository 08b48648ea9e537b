package rolerpc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/pki"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// Causes with which a stream ends, in addition to DisconnectError and the network's errors.
var (
	// errOutboxFull says that more messages wait for the peer than the protocol allows: the peer
	// counts as lost.
	errOutboxFull = errors.New("outbox is full: peer does not keep up")
	// ErrPeerGone says that the other end has closed without a Disconnect: its process has ended.
	ErrPeerGone = errors.New("peer is gone")
)

// DisconnectError says that one end has closed the stream on purpose.
type DisconnectError struct{ Cause string }

func (e *DisconnectError) Error() string { return "disconnected: " + e.Cause }

const (
	// leastRoom is the number of messages that may wait on any stream, for messages about the two
	// ends themselves.
	leastRoom = 1024
	// roomPerShare is the further number for each slot or task in the share that SetShare has set:
	// its states, its splits and its collected records. Fewer messages wait for an honest peer, even
	// if it is stopped for long, because each next message follows an answer to the last.
	roomPerShare = 8
	// closeGrace is how long a closed stream may take to send the waiting messages and to receive
	// the peer's close.
	closeGrace = time.Second
)

// Peer is the process at the other end.
type Peer struct {
	pki.Identity
	Address string // host:port; empty in one process
}

// Stream is one end of a stream of messages. Its methods may be called from any
// goroutine, and none of them blocks.
type Stream struct {
	peer   Peer
	target string
	wire   Wire
	logger logrus.FieldLogger
	ctx    context.Context //nolint:containedctx // what the stream runs under, not the time of a call

	outbox  *actor.Outbox[Frame]
	ended   chan struct{} // closed by end
	fence   actor.Fence
	dropped atomic.Int64 // messages that were dropped for their fencing token

	writers sched.Group // has a goroutine only while messages wait: most streams are silent most of the time
	mu      sync.Mutex  // guards what follows
	running bool        // from the begin of Run
	writing bool        // there is a writer, or there will be none any more
	closing bool        // Close was called
	cause   error       // why the stream ended or is closing; set once
	grace   func() bool // stops the timer that ends a closed stream whose peer does not answer
}

// NewStream makes the end of a stream over a wire: the end of the role that the peer asked for, or of
// the one that asks. ctx is what the stream runs under; its end has no effect. Call Run once.
func NewStream(ctx context.Context, peer Peer, target string, w Wire, logger logrus.FieldLogger) *Stream {
	s := &Stream{
		peer: peer, target: target, wire: w, ctx: context.WithoutCancel(ctx),
		logger: logger, ended: make(chan struct{}),
	}
	s.outbox = actor.NewOutbox[Frame](leastRoom, func() { s.end(errOutboxFull) })
	s.outbox.Join(func(older, newer Frame) Frame {
		return Frame{newer.Token, msg.Join(older.Message, newer.Message)}
	})
	return s
}

// Peer returns the process at the other end, as its certificate says.
func (s *Stream) Peer() Peer { return s.peer }

// Target returns the role that the dialing end asked for: "resourcemanager" or
// "jobmaster/<id>".
func (s *Stream) Target() string { return s.target }

// SetToken sets the leader's fencing token. The leader's end sets the token of its own
// grant. The other end sets the token from the answer to its registration. Messages sent
// from now on carry it. The Stream drops messages with another token, and messages without
// a token unless they begin a registration. Before SetToken, it delivers all messages.
func (s *Stream) SetToken(token string) { s.fence.SetToken(token) }

// SetShare sets the most work that the two ends may share, in slots or tasks: the slots of a worker, or
// all tasks of a job, since each of them may run on any worker. The number of messages that may wait
// for the peer is proportional to it.
func (s *Stream) SetShare(parts int) { s.outbox.SetRoom(leastRoom + roomPerShare*max(parts, 0)) }

// Send queues a message and reports whether it was queued. The caller must not change the
// message afterwards. A message with a name (msg.Latest) replaces the older one of the
// same name, or takes it in (msg.Join). A full outbox ends the stream with errOutboxFull.
func (s *Stream) Send(m msg.Message) bool {
	if !s.outbox.Put(Frame{s.fence.Token(), m}, msg.Latest(m)) {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.startWriter()
	return true
}

// startWriter starts a writer if there is none. s.mu is held.
func (s *Stream) startWriter() {
	if s.running && !s.writing && !sched.Closed(s.ended) {
		s.writing = true
		s.writers.Go(s.ctx, s.write)
	}
}

// Close sends the queued messages, sends the cause to the peer, and ends the stream. It
// does not wait: the handler's Closed is called when it is done.
func (s *Stream) Close(cause string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cause != nil {
		return
	}
	s.cause = &DisconnectError{cause}
	s.outbox.Close()
	s.closing = true
	s.startWriter()
	s.grace = sched.AfterFunc(s.ctx, closeGrace, func() { s.end(nil) })
}

// end ends the stream now. The first cause counts.
func (s *Stream) end(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cause == nil {
		s.cause = cause
	}
	select {
	case <-s.ended:
		return
	default:
		s.outbox.Close()
		close(s.ended)
	}
	if s.grace != nil {
		s.grace()
	}
	s.wire.Shut()
}

// Run serves the stream until it has ended.
func (s *Stream) Run(h Handler) {
	s.mu.Lock()
	s.running = true
	if s.closing || !s.outbox.Idle() {
		s.startWriter()
	}
	s.mu.Unlock()
	s.read(h)
	s.writers.Wait(s.ctx) // none starts after the end
	s.mu.Lock()
	cause := s.cause
	s.mu.Unlock()
	h.Closed(s.ctx, cause)
}

// log returns the logger of the stream, which seldom says anything.
func (s *Stream) log() *logrus.Entry {
	return s.logger.WithFields(logrus.Fields{"peer": s.peer.Identity.String(), "target": s.target})
}

func (s *Stream) read(h Handler) {
	hears := h.Hears()
	for {
		f, err := s.wire.Receive(hears)
		if err != nil {
			if !errors.Is(err, ErrPeerGone) {
				s.log().WithError(err).Error("peer breaks the protocol, and its stream is ended")
			}
			s.end(err)
			return
		}
		if !s.fence.Admits(f.Token, f.Message) {
			s.dropped.Add(1)
			s.log().WithField("message", msg.Kind(f.Message)).Debug("message with another fencing token dropped")
			continue
		}
		h.Receive(s.ctx, f.Message)
		if disconnect, is := f.Message.(msg.Disconnect); is {
			s.end(&DisconnectError{disconnect.Cause})
			return
		}
	}
}

// write sends messages until none waits.
func (s *Stream) write() {
	for s.flush() {
		s.mu.Lock()
		idle, closing := s.outbox.Idle(), s.closing
		s.writing = !idle || closing
		s.mu.Unlock()
		switch {
		case idle && closing:
			s.farewell()
			return
		case idle:
			return
		}
	}
}

// flush sends the queued messages. It returns false if the stream ends meanwhile.
func (s *Stream) flush() bool {
	for {
		f, more := s.outbox.Next()
		if !more {
			return true
		}
		if !s.sent(f) {
			return false
		}
	}
}

// farewell sends the cause of Close, after all messages.
func (s *Stream) farewell() {
	s.mu.Lock()
	var disconnect *DisconnectError
	known := errors.As(s.cause, &disconnect)
	s.mu.Unlock()
	if !known || !s.sent(Frame{s.fence.Token(), msg.Disconnect{Cause: disconnect.Cause}}) {
		return
	}
	if err := s.wire.CloseSend(); err != nil {
		s.end(fmt.Errorf("close stream to %s: %w", s.peer, err))
	}
}

func (s *Stream) sent(f Frame) bool {
	if err := s.wire.Send(f); err != nil {
		s.end(fmt.Errorf("send %s to %s: %w", msg.Kind(f.Message), s.peer, err))
		return false
	}
	return true
}
