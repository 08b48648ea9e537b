package actor

import (
	"sync/atomic"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Fence admits only messages for one grant of leadership. It stands before the mailbox, so
// messages for another grant change nothing. The zero value has no token and admits every
// message. Its methods may be called from any goroutine.
type Fence struct{ token atomic.Pointer[string] }

// SetToken sets the leader's fencing token. The leader's end sets the token of its own
// grant. The other end sets the token from the answer to its registration.
func (f *Fence) SetToken(token string) { f.token.Store(&token) }

// Token returns the token that was set last, or "". Messages to the other end carry it.
func (f *Fence) Token() string {
	if token := f.token.Load(); token != nil {
		return *token
	}
	return ""
}

// Admits reports whether a message with this token is for this grant. It admits a
// registration without a token, because the peer does not know the token yet. It always
// admits a farewell, which concerns only its connection.
func (f *Fence) Admits(token string, m msg.Message) bool {
	own := f.Token()
	if own == "" || token == own {
		return true
	}
	switch m.(type) {
	case msg.RegisterTaskExecutor, msg.RegisterAtJobMaster:
		return token == ""
	case msg.Disconnect:
		return true
	default:
		return false
	}
}
