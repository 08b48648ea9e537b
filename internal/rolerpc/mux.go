package rolerpc

import (
	"errors"
	"fmt"
	"strings"
)

// ErrUnknownTarget says that the other end has no role for a target: the job
// has ended.
var ErrUnknownTarget = errors.New("unknown target")

// ErrNotReady says that the other end starts the role of a target: the JobMaster of
// a job is being made.
var ErrNotReady = errors.New("not ready yet")

// Accept decides about a new stream before anything is read from it, and
// returns the handler. It may set the stream's token and send messages. An
// error refuses the stream. The peer gets the text, and ErrUnknownTarget or ErrNotReady
// if the error wraps it.
type Accept func(s *Stream) (Handler, error)

// Mux finds the role that a stream is for. The zero value is ready.
type Mux struct{ routes []route }

type route struct {
	pattern string
	accept  Accept
}

// Handle routes the streams of a target, or of all targets under a prefix that
// ends with "/", to accept. Call it before the first stream comes.
func (m *Mux) Handle(pattern string, accept Accept) {
	m.routes = append(m.routes, route{pattern, accept})
}

// Accept has the role that a stream is for accept it, and returns the handler. The error is
// ErrUnknownTarget if there is no such role, or the role's refusal.
func (m *Mux) Accept(s *Stream) (Handler, error) {
	for _, r := range m.routes {
		if s.target == r.pattern || strings.HasSuffix(r.pattern, "/") && strings.HasPrefix(s.target, r.pattern) {
			return r.accept(s)
		}
	}
	return nil, fmt.Errorf("open stream to %q: %w", s.target, ErrUnknownTarget)
}
