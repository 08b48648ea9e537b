package dfs

import (
	"errors"
	"sync/atomic"

	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// Tokens are the delegation tokens of a process that receives new ones while it runs. Handed.Credentials
// is their Load, so every new connection shows the newest tokens. The zero value has none. The methods may
// be called from any goroutine.
type Tokens struct {
	newest atomic.Pointer[creds.Credentials]
}

// Load returns the newest tokens; nil: there are none.
func (t *Tokens) Load() *creds.Credentials { return t.newest.Load() }

// Update replaces the tokens. marshalled is a result of creds.Credentials.Marshal, or empty if there are no
// tokens. After an error (creds.ErrFormat) the old tokens stay.
func (t *Tokens) Update(marshalled msg.Secret) error {
	if len(marshalled) == 0 {
		t.newest.Store(nil)
		return nil
	}
	tokens, err := creds.Parse(marshalled)
	if err != nil {
		return err
	}
	t.newest.Store(tokens)
	return nil
}

// NeedsTokens tells whether a process failed because it holds no valid delegation token: its token has ended, or
// there is none for this file system. The machine is not at fault, and new tokens help.
func NeedsTokens(err error) bool {
	return errors.Is(err, yarnrpc.ErrInvalidToken) || errors.Is(err, yarnrpc.ErrNoLogin)
}
