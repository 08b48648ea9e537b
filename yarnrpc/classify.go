package yarnrpc

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// Action is what may help after an error.
type Action int

const (
	// Permanent: nothing; the same call would fail the same way, or nobody waits for it.
	Permanent Action = iota + 1
	// RetrySame: the same server, later.
	RetrySame
	// FailOver: another server, or this one when it is back.
	FailOver
	// Reauth: a new token.
	Reauth
)

func (a Action) String() string {
	switch a {
	case Permanent:
		return "permanent"
	case RetrySame:
		return "retry same"
	case FailOver:
		return "fail over"
	case Reauth:
		return "reauthenticate"
	default:
		return "unknown"
	}
}

// Classify says what may help after err. Whether the call may be made again at all
// is another question: see MaybeSent.
func Classify(err error) Action {
	var remote *RemoteError
	switch {
	case errors.As(err, &remote):
		return classifyRemote(remote)

	// The caller has left, or its time is over.
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Permanent

	// The peer lives and speaks nonsense. What else says that it is not what we took it
	// for (wire.FrameError, sasl's errors, ErrNoCommonAuth) comes to the default.
	case errors.Is(err, wire.ErrMalformed):
		return Permanent

	// The server is gone, stopped or unreachable.
	case errors.Is(err, ErrTimeout), errors.Is(err, ErrConnectTimeout), errors.Is(err, ErrClosed),
		errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		return FailOver
	}
	var errno syscall.Errno
	var network net.Error
	if errors.As(err, &errno) || errors.As(err, &network) {
		return FailOver
	}
	return Permanent
}

func classifyRemote(err *RemoteError) Action {
	switch {
	// A standby of a pair, or one that is changing roles.
	case err.Is(ErrStandby):
		return FailOver
	// Overloaded, or starting up.
	case err.Is(ErrRetriable), err.Is(ErrNMNotYetReady):
		return RetrySame
	// The token will not become valid.
	case err.Is(ErrInvalidToken):
		return Reauth
	// An answer like any other: the call was refused, or failed when executed.
	default:
		return Permanent
	}
}
