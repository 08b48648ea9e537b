package tokenmanager

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// FileSystem issues tokens; a *dfs.FS is one, which has to have a Kerberos login.
type FileSystem interface {
	DelegationToken(ctx context.Context, uri, renewer string) (*creds.Token, error)
	RenewDelegationToken(ctx context.Context, uri string, token *creds.Token) (ends time.Time, err error)
}

// maxFormer bounds how many former tokens of a file system are kept alive. Of a week, in which
// one comes every 18 hours, there are ten; more come while another file system is away.
const maxFormer = 32

// HadoopFS obtains tokens of Hadoop's file systems (Flink's provider hadoopfs), and keeps those
// alive that it has obtained before: NodeManagers write an application's logs with the tokens of
// its first container on their node, and YARN renews none but the client's.
type HadoopFS struct {
	Files FileSystem
	// Roots are a URI of each file system. One that knows no tokens needs none.
	Roots []string
	// Renewer is the principal of the login, as the ticket has it: servers make of it
	// the name by which they know who comes to renew.
	Renewer string

	former map[string][]*creds.Token // by the roots, the oldest first
}

// Obtain asks all file systems at the same time, and gives the tokens of those that
// answer. The error names the others. It must not be called again before it returns.
func (h *HadoopFS) Obtain(ctx context.Context) (Obtained, error) {
	grants := make([]grant, len(h.Roots))
	var asking sync.WaitGroup
	for i, root := range h.Roots {
		asking.Go(func() { grants[i] = h.obtain(ctx, root) })
	}
	asking.Wait()
	h.former = make(map[string][]*creds.Token)
	for i, g := range grants {
		h.former[h.Roots[i]] = g.former
	}

	all := Obtained{Credentials: creds.New()}
	var faults []error
	for i, g := range grants {
		switch {
		case g.err != nil:
			faults = append(faults, fmt.Errorf("obtain delegation token of %s: %w", h.Roots[i], g.err))
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
	token  *creds.Token
	ends   time.Time
	former []*creds.Token // that may still live, with the new one
	err    error
}

// obtain renews the new token at once: that is how a NameNode tells when it ends.
func (h *HadoopFS) obtain(ctx context.Context, root string) grant {
	former := h.former[root]
	token, err := h.Files.DelegationToken(ctx, root, h.Renewer)
	if errors.Is(err, dfs.ErrNoTokens) && len(former) == 0 { // it may be that it has none just now
		return grant{}
	}
	if err != nil {
		return grant{err: err, former: former}
	}
	ends, err := h.Files.RenewDelegationToken(ctx, root, token)
	if err != nil {
		return grant{err: fmt.Errorf("renew it as %s to learn when it ends: %w", h.Renewer, err), former: former}
	}
	if former = h.prolong(ctx, root, former); len(former) < maxFormer {
		former = append(former, token)
	}
	return grant{token: token, ends: ends, former: former}
}

// prolong renews former tokens, and gives those that have not ended for good. What else may go
// wrong is nobody's concern: the NameNode has just answered, and is asked again the next time.
func (h *HadoopFS) prolong(ctx context.Context, root string, former []*creds.Token) (alive []*creds.Token) {
	for _, token := range former {
		if _, err := h.Files.RenewDelegationToken(ctx, root, token); !errors.Is(err, yarnrpc.ErrInvalidToken) {
			alive = append(alive, token)
		}
	}
	return alive
}
