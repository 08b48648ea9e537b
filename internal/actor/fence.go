package actor

import (
	"sync/atomic"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Fence lets in what is meant for one grant of leadership, before the mailbox: messages of
// another leader's time change nothing. Its zero value has no token yet, and lets everything
// in. Its methods may be called from any goroutine.
type Fence struct{ token atomic.Pointer[string] }

// SetToken sets the leader's fencing token: of its own grant at the leader's end, as learned
// from the answer to the registration at the other.
func (f *Fence) SetToken(token string) { f.token.Store(&token) }

// Token is the token as last set, which messages to the other end carry; "" before.
func (f *Fence) Token() string {
	if token := f.token.Load(); token != nil {
		return *token
	}
	return ""
}

// Admits tells whether a message with this token is for this grant. A peer that begins a
// registration has not learned the token yet, and a farewell concerns its connection only.
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
