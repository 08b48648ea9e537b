package tokenmanager

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// FileSystem issues tokens; a *dfs.FS is one, which has to have a Kerberos login.
type FileSystem interface {
	DelegationToken(ctx context.Context, uri, renewer string) (*creds.Token, error)
	RenewDelegationToken(ctx context.Context, uri string, token *creds.Token) (ends time.Time, err error)
}

// HadoopFS obtains tokens of Hadoop's file systems (Flink's provider hadoopfs).
type HadoopFS struct {
	Files FileSystem
	// Roots are a URI of each file system. One that knows no tokens needs none.
	Roots []string
	// Renewer is the principal of the login, as the ticket has it: servers make of it
	// the name by which they know who comes to renew.
	Renewer string
}

// Obtain asks all file systems at the same time, and gives the tokens of those that
// answer. The error names the others.
func (h HadoopFS) Obtain(ctx context.Context) (Obtained, error) {
	grants := make([]grant, len(h.Roots))
	var asking sync.WaitGroup
	for i, root := range h.Roots {
		asking.Go(func() { grants[i] = h.obtain(ctx, root) })
	}
	asking.Wait()

	all := Obtained{Credentials: creds.New()}
	var faults []error
	for i, g := range grants {
		switch {
		case g.err != nil:
			faults = append(faults, fmt.Errorf("obtain token of %s: %w", h.Roots[i], g.err))
		case g.token != nil:
			all.Credentials.Tokens[g.token.Service] = g.token
			if all.Ends.IsZero() || g.ends.Before(all.Ends) {
				all.Ends = g.ends
			}
		}
	}
	return all, errors.Join(faults...)
}

// grant is what a file system has answered; all is zero where it knows no tokens.
type grant struct {
	token *creds.Token
	ends  time.Time
	err   error
}

// obtain renews the new token at once: that is how a NameNode tells when it ends.
func (h HadoopFS) obtain(ctx context.Context, root string) grant {
	token, err := h.Files.DelegationToken(ctx, root, h.Renewer)
	if errors.Is(err, dfs.ErrNoTokens) {
		return grant{}
	}
	if err != nil {
		return grant{err: err}
	}
	ends, err := h.Files.RenewDelegationToken(ctx, root, token)
	if err != nil {
		return grant{err: fmt.Errorf("ask for its end: %w", err)}
	}
	return grant{token: token, ends: ends}
}
