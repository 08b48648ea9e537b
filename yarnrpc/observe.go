package yarnrpc

import (
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// Try describes one try of a call for Options.Observe.
type Try struct {
	Address  string // the server's
	Protocol string // wire name
	Method   string
	// Retry is the number of earlier tries of the same call by a Proxy.
	Retry int
	Began time.Time
	// Took is the time until the answer was decoded or the try ended. It includes the
	// time for a new connection only if that connection failed.
	Took time.Duration
	// RequestBytes and ResponseBytes are lengths without protection: of the request with
	// its headers, and of the answer without headers. They are 0 if the try did not get
	// that far.
	RequestBytes, ResponseBytes int
	// Err is the result of Conn.Call: nil, a *RemoteError or a *CallError.
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

// with adds the sizes of a call that reached a connection.
func (t Try) with(call *pendingCall) Try {
	t.RequestBytes, t.ResponseBytes = len(call.frame), len(call.answer)
	return t
}
