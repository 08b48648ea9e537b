package dfs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// ErrNoTokens says that a file system has no delegation tokens and needs none: the local disk, or
// an HDFS without Kerberos.
var ErrNoTokens = errors.New("file system has no delegation tokens")

// Root returns the URI of a path's file system: its scheme and authority. All NameNodes of one
// nameservice have the same root.
func (f *FS) Root(uri string) (string, error) {
	at, err := f.locate(uri)
	if err != nil {
		return "", err
	}
	at.path = "/"
	return at.String(), nil
}

// DelegationToken gets a token for the file system of a URI. The user renewer, a short name or a
// principal, may renew it (hdfs.NameNode.DelegationToken). This FS must have logged in there with
// Kerberos: a token cannot get another token. The error is ErrNoTokens if the file system has none.
func (f *FS) DelegationToken(ctx context.Context, uri, renewer string) (*creds.Token, error) {
	r, at, err := f.issuer(uri)
	if err != nil {
		return nil, failed("get token for", at, err)
	}
	service, err := hdfs.TokenService(ctx, f.options.Conf, at.authority)
	if err != nil {
		return nil, failed("get token for", at, err)
	}
	token, err := r.nameNode.DelegationToken(ctx, service, renewer)
	switch {
	case errors.Is(err, hdfs.ErrNoDelegationTokens):
		return nil, failed("get token for", at, ErrNoTokens)
	case err != nil:
		return nil, r.told(err)
	}
	return token, nil
}

// RenewDelegationToken renews a token of the file system of a URI and returns its new expiry. The
// user of this FS must be the token's renewer.
func (f *FS) RenewDelegationToken(ctx context.Context, uri string, token *creds.Token) (time.Time, error) {
	r, at, err := f.issuer(uri)
	if err != nil {
		return time.Time{}, failed("renew token for", at, err)
	}
	ends, err := r.nameNode.RenewDelegationToken(ctx, token)
	if err != nil {
		return time.Time{}, r.told(err)
	}
	return ends, nil
}

// CancelDelegationToken invalidates a token of the file system of a URI at once. The user of this
// FS must be its owner or its renewer.
func (f *FS) CancelDelegationToken(ctx context.Context, uri string, token *creds.Token) error {
	r, at, err := f.issuer(uri)
	if err != nil {
		return failed("cancel token for", at, err)
	}
	if err := r.nameNode.CancelDelegationToken(ctx, token); err != nil {
		return r.told(err)
	}
	return nil
}

// told returns the error of a call about a token. If a NameNode refuses the token, told keeps the
// NameNode's words: they name the owner and the renewer.
func (r *remote) told(err error) error {
	if _, unanswered := errors.AsType[*yarnrpc.CallError](err); unanswered {
		return r.answer(err)
	}
	return err
}

// issuer returns the HDFS of a URI.
func (f *FS) issuer(uri string) (*remote, location, error) {
	b, at, err := f.resolve(uri)
	if err != nil {
		return nil, at, err
	}
	r, ok := b.(*remote)
	if !ok {
		return nil, at, ErrNoTokens
	}
	return r, at, nil
}

// TokenOf returns the token for the file system of a URI from the credentials; nil if there is
// none.
func (f *FS) TokenOf(ctx context.Context, uri string, among *creds.Credentials) (*creds.Token, error) {
	at, err := f.locate(uri)
	if err != nil || at.scheme != schemeHDFS {
		return nil, err
	}
	token, err := hdfs.TokenSource(f.options.Conf, at.authority, func() *creds.Credentials { return among })(ctx, "")
	if err != nil {
		return nil, fmt.Errorf("find token for %s: %w", at, err)
	}
	return token, nil
}
