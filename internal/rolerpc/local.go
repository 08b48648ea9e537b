package rolerpc

import (
	"context"
	"fmt"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// LocalConfig describes the two ends of a Local.
type LocalConfig struct {
	Dialer, Listener Peer
	Logger           logrus.FieldLogger
	// Encode encodes and decodes every message, as between processes. Tests set
	// it to find messages that change on the way. Without it both ends share
	// the messages.
	Encode bool
}

// Local is a Conn to the roles of the same process. It has the same bounds,
// tokens and causes as a Conn.
type Local struct {
	mux     *Mux
	config  LocalConfig
	streams sync.WaitGroup

	mu     sync.Mutex // guards open and closed, and streams.Add against Close
	open   map[*Stream]struct{}
	closed bool
}

// NewLocal connects to the roles in mux.
func NewLocal(mux *Mux, config LocalConfig) *Local {
	return &Local{mux: mux, config: config, open: make(map[*Stream]struct{})}
}

// Open opens a stream to a role, as Conn.Open does.
func (l *Local) Open(ctx context.Context, target string, h Handler) (*Stream, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("open stream to %s: %w", target, context.Cause(ctx))
	}
	near, far := pipe(l.config.Encode)
	dialed := NewStream(ctx, l.config.Listener, target, near, l.config.Logger)
	accepted := NewStream(ctx, l.config.Dialer, target, far, l.config.Logger)
	handler, err := l.mux.Accept(accepted)
	if err != nil {
		return nil, fmt.Errorf("open stream to %s: %w", target, err)
	}

	if !l.startBoth(dialed, h, accepted, handler) {
		accepted.end(errConnClosed)
		accepted.Run(handler) // here: Close may wait already for the streams, and must not get another one
		return nil, fmt.Errorf("open stream to %s: %w", target, errConnClosed)
	}
	return dialed, nil
}

// startBoth starts both ends of a stream; false if l is closed.
func (l *Local) startBoth(dialed *Stream, h Handler, accepted *Stream, handler Handler) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.start(dialed, h)
	l.start(accepted, handler)
	return true
}

func (l *Local) start(s *Stream, h Handler) {
	l.open[s] = struct{}{}
	l.streams.Go(func() {
		s.Run(h)
		l.mu.Lock()
		delete(l.open, s)
		l.mu.Unlock()
	})
}

// Close ends all streams as a lost connection does and waits for the handlers
// of both ends. A handler must not call it.
func (l *Local) Close() error {
	l.mu.Lock()
	l.closed = true
	for s := range l.open {
		s.end(ErrPeerGone)
	}
	l.mu.Unlock()
	l.streams.Wait()
	return nil
}

// pipeWire is one end of a stream within the process.
type pipeWire struct {
	encode bool
	out    chan<- Frame
	in     <-chan Frame
	// ended and peerEnded are closed by Shut at this and at the other end.
	once             *sync.Once
	ended, peerEnded chan struct{}
}

func pipe(encode bool) (near, far *pipeWire) {
	// Unbuffered: a stream's messages are in its outbox, which bounds them.
	up, down := make(chan Frame), make(chan Frame)
	nearEnded, farEnded := make(chan struct{}), make(chan struct{})
	near = &pipeWire{encode, up, down, new(sync.Once), nearEnded, farEnded}
	far = &pipeWire{encode, down, up, new(sync.Once), farEnded, nearEnded}
	return near, far
}

func (w *pipeWire) Send(f Frame) error {
	if w.encode {
		copied, err := Copy(f)
		if err != nil {
			return err
		}
		f = copied
	}
	select {
	case w.out <- f:
		return nil
	case <-w.ended:
		return ErrPeerGone
	case <-w.peerEnded:
		return ErrPeerGone
	}
}

// CloseSend does nothing: the peer, which has just received the farewell, ends the stream.
func (w *pipeWire) CloseSend() error { return nil }

func (w *pipeWire) Receive(kinds msg.Kinds) (Frame, error) {
	select {
	case f := <-w.in:
		if !kinds.Allow(f.Message) {
			return Frame{}, fmt.Errorf("receive message %s: %w", msg.Kind(f.Message), msg.ErrKind)
		}
		return f, nil
	case <-w.ended:
		return Frame{}, ErrPeerGone
	case <-w.peerEnded:
		return Frame{}, ErrPeerGone
	}
}

func (w *pipeWire) Shut() { w.once.Do(func() { close(w.ended) }) }
