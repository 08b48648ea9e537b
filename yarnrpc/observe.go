package yarnrpc

import (
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// Try is one try of a call, as Options.Observe is told of it.
type Try struct {
	Address  string // the server's
	Protocol string // wire name
	Method   string
	// Retry counts the tries of the same call before this one, where a Proxy makes them.
	Retry int
	Began time.Time
	// Took is how long it took until the answer was decoded or the try given up,
	// with the time for a new connection only where that could not be made.
	Took time.Duration
	// RequestBytes and ResponseBytes are the lengths of what was said, without
	// protection: of the request with its headers, and of the answer alone. 0 where the
	// try did not come so far.
	RequestBytes, ResponseBytes int
	// Err is what Conn.Call would give: nil, a *RemoteError or a *CallError.
	Err error
}

func tryOf(address string, id wire.Call, began time.Time, err error) Try {
	return Try{
		Address:  address,
		Protocol: id.Protocol,
		Method:   id.Method,
		Retry:    int(id.Retry),
		Began:    began,
		Took:     time.Since(began),
		Err:      err,
	}
}

// with adds what a call knows that came as far as a connection.
func (t Try) with(call *pendingCall) Try {
	t.RequestBytes, t.ResponseBytes = len(call.frame), len(call.answer)
	return t
}
