package tokenmanager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/sched"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// FileSystem issues tokens. A *dfs.FS with a Kerberos login is one.
type FileSystem interface {
	DelegationToken(ctx context.Context, uri, renewer string) (*creds.Token, error)
	RenewDelegationToken(ctx context.Context, uri string, token *creds.Token) (ends time.Time, err error)
}

// maxFormer is how many former tokens of a file system are renewed. A week with a new token every 18 hours
// has ten; there are more while another file system does not answer.
const maxFormer = 32

// HadoopFS obtains tokens of Hadoop's file systems (Flink's provider hadoopfs), and renews those that it
// has obtained before: NodeManagers write an application's logs with the tokens of its first container on
// their node, and YARN renews only the client's tokens.
type HadoopFS struct {
	Files FileSystem
	// Roots has a URI of each file system. A file system without tokens needs none.
	Roots []string
	// Renewer is the principal of the login, as the ticket has it. From it servers derive the user name
	// that may renew.
	Renewer string

	former map[string][]*creds.Token // by root, the oldest first
}

// Obtain asks all file systems at the same time, and returns the tokens of those that answer. The error
// names the others. It must not be called again before it returns.
func (h *HadoopFS) Obtain(ctx context.Context) (Obtained, error) {
	grants := make([]grant, len(h.Roots))
	var asking sched.Group
	for i, root := range h.Roots {
		asking.Go(ctx, func() { grants[i] = h.obtain(ctx, root) })
	}
	asking.Wait(ctx)
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

// grant is the answer of a file system; zero if it has no tokens.
type grant struct {
	token  *creds.Token
	ends   time.Time
	former []*creds.Token // former tokens that may still be valid, and the new one
	err    error
}

// obtain renews the new token at once, because a NameNode tells only then when the token ends.
func (h *HadoopFS) obtain(ctx context.Context, root string) grant {
	former := h.former[root]
	token, err := h.Files.DelegationToken(ctx, root, h.Renewer)
	if errors.Is(err, dfs.ErrNoTokens) && len(former) == 0 { // a file system that had tokens before may have none only at the moment
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

// prolong renews former tokens, and returns those that have not ended for good. It ignores other errors:
// the NameNode has just answered, and the next attempt asks it again.
func (h *HadoopFS) prolong(ctx context.Context, root string, former []*creds.Token) (alive []*creds.Token) {
	for _, token := range former {
		if _, err := h.Files.RenewDelegationToken(ctx, root, token); !errors.Is(err, yarnrpc.ErrInvalidToken) {
			alive = append(alive, token)
		}
	}
	return alive
}
