package hdfs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
)

// ErrNoDelegationTokens says that the NameNode issues no delegation tokens, as in every
// open cluster. Its clients need none: it trusts the user name that they send.
var ErrNoDelegationTokens = errors.New(
	"the NameNode issues no delegation tokens: its hadoop.security.authentication is simple, and dfs.namenode.delegation.token.always-use is not set")

// DelegationToken asks for a delegation token (ClientProtocol.getDelegationToken). With
// it, other processes can act for the caller without its Kerberos ticket, for at most
// dfs.namenode.delegation.token.max-lifetime (7 days). renewer is the user who may
// renew and cancel the token, as a short user name or a principal. For the token of an
// application it is YARN's ResourceManager. Empty: no user may renew the token.
//
// The NameNode's answer does not hold the token's service. Clients select the token by
// service: creds.NameserviceService if NameNodes share a nameservice, and
// creds.ServiceOf for a single one.
//
// The error is ErrNoDelegationTokens if the cluster is open. In a secure cluster the
// caller must have logged in with Kerberos. If it has logged in with a token, the error
// is a *yarnrpc.RemoteError.
func (n *NameNode) DelegationToken(ctx context.Context, service, renewer string) (*creds.Token, error) {
	request := &commonpb.GetDelegationTokenRequestProto{Renewer: proto.String(renewer)}
	var response commonpb.GetDelegationTokenResponseProto
	if err := n.rpc.Call(ctx, "getDelegationToken", request, &response); err != nil {
		return nil, fmt.Errorf("get delegation token of %s with renewer %q: %w", service, renewer, err)
	}
	if response.GetToken() == nil {
		return nil, fmt.Errorf("get delegation token of %s: %w", service, ErrNoDelegationTokens)
	}
	return pbconv.Token(response.GetToken()).WithService(service), nil
}

// RenewDelegationToken renews a token for dfs.namenode.delegation.token.renew-interval
// (24 h), up to its maximum, and returns its new end
// (ClientProtocol.renewDelegationToken). Only the token's renewer may do that; other
// callers get yarnrpc.ErrAccessControl. The error is yarnrpc.ErrInvalidToken if the
// token has expired or the NameNode does not know it. An open cluster knows no tokens.
func (n *NameNode) RenewDelegationToken(ctx context.Context, token *creds.Token) (expires time.Time, err error) {
	request := &commonpb.RenewDelegationTokenRequestProto{Token: pbconv.TokenProto(token)}
	var response commonpb.RenewDelegationTokenResponseProto
	if err := n.rpc.Call(ctx, "renewDelegationToken", request, &response); err != nil {
		return time.Time{}, fmt.Errorf("renew %v: %w", token, err)
	}
	return pbconv.Time(int64(min(response.GetNewExpiryTime(), math.MaxInt64))), nil
}

// CancelDelegationToken makes a token invalid at once
// (ClientProtocol.cancelDelegationToken). Only the token's owner and its renewer may do
// that. The errors are those of RenewDelegationToken.
func (n *NameNode) CancelDelegationToken(ctx context.Context, token *creds.Token) error {
	request := &commonpb.CancelDelegationTokenRequestProto{Token: pbconv.TokenProto(token)}
	if err := n.rpc.Call(ctx, "cancelDelegationToken", request, new(commonpb.CancelDelegationTokenResponseProto)); err != nil {
		return fmt.Errorf("cancel %v: %w", token, err)
	}
	return nil
}
