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
	accept, err := l.mux.find(target)
	if err != nil {
		return nil, err
	}
	near, far := pipe(l.config.Encode)
	dialed := newStream(l.config.Listener, target, near, l.config.Logger)
	accepted := newStream(l.config.Dialer, target, far, l.config.Logger)
	handler, err := accept(accepted)
	if err != nil {
		return nil, fmt.Errorf("open stream to %s: %w", target, err)
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		accepted.end(errConnClosed)
		l.streams.Go(func() { accepted.run(handler) })
		return nil, fmt.Errorf("open stream to %s: %w", target, errConnClosed)
	}
	l.start(dialed, h)
	l.start(accepted, handler)
	return dialed, nil
}

func (l *Local) start(s *Stream, h Handler) {
	l.open[s] = struct{}{}
	l.streams.Go(func() {
		s.run(h)
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
		s.end(errPeerGone)
	}
	l.mu.Unlock()
	l.streams.Wait()
	return nil
}

// pipeWire is one end of a stream within the process.
type pipeWire struct {
	encode bool
	out    chan<- frame
	in     <-chan frame
	// ended and peerEnded are closed by shut at this and at the other end.
	once             *sync.Once
	ended, peerEnded chan struct{}
}

func pipe(encode bool) (near, far *pipeWire) {
	// Unbuffered: a stream's messages are in its outbox, which bounds them.
	up, down := make(chan frame), make(chan frame)
	nearEnded, farEnded := make(chan struct{}), make(chan struct{})
	near = &pipeWire{encode, up, down, new(sync.Once), nearEnded, farEnded}
	far = &pipeWire{encode, down, up, new(sync.Once), farEnded, nearEnded}
	return near, far
}

func (w *pipeWire) send(f frame) error {
	if w.encode {
		data, err := encodeFrame(f)
		if err != nil {
			return err
		}
		if f, err = decodeFrame(data, msg.KindsOf(f.message)); err != nil {
			return err
		}
	}
	select {
	case w.out <- f:
		return nil
	case <-w.ended:
		return errPeerGone
	case <-w.peerEnded:
		return errPeerGone
	}
}

// closeSend does nothing: the peer, which has just received the farewell, ends the stream.
func (w *pipeWire) closeSend() error { return nil }

func (w *pipeWire) receive(kinds msg.Kinds) (frame, error) {
	select {
	case f := <-w.in:
		if !kinds.Allow(f.message) {
			return frame{}, fmt.Errorf("receive message %s: %w", msg.Kind(f.message), msg.ErrKind)
		}
		return f, nil
	case <-w.ended:
		return frame{}, errPeerGone
	case <-w.peerEnded:
		return frame{}, errPeerGone
	}
}

func (w *pipeWire) shut() { w.once.Do(func() { close(w.ended) }) }
