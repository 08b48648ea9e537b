package rolerpc

import (
	"errors"
	"fmt"
	"strings"
)

// ErrUnknownTarget says that no role at the other end answers to a target: the
// job has ended, or its JobMaster has not started yet.
var ErrUnknownTarget = errors.New("unknown target")

// Accept decides about a new stream before anything is read from it, and gives
// its handler. It may set the stream's token and send. An error refuses the
// stream; ErrUnknownTarget and the text reach the peer.
type Accept func(s *Stream) (Handler, error)

// Mux finds the role that a stream is for. The zero value is ready.
type Mux struct{ routes []route }

type route struct {
	pattern string
	accept  Accept
}

// Handle gives a role the streams of a target, or of all targets under a prefix
// that ends with "/". It is called before the first stream comes.
func (m *Mux) Handle(pattern string, accept Accept) {
	m.routes = append(m.routes, route{pattern, accept})
}

func (m *Mux) find(target string) (Accept, error) {
	for _, r := range m.routes {
		if target == r.pattern || strings.HasSuffix(r.pattern, "/") && strings.HasPrefix(target, r.pattern) {
			return r.accept, nil
		}
	}
	return nil, fmt.Errorf("open stream to %q: %w", target, ErrUnknownTarget)
}
