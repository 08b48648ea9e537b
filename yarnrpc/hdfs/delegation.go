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

// ErrNoDelegationTokens is a NameNode that issues none, as that of every open cluster.
// Clients of such a one need none: it believes the user they tell.
var ErrNoDelegationTokens = errors.New(
	"the NameNode issues no delegation tokens: its hadoop.security.authentication is simple, and dfs.namenode.delegation.token.always-use is not set")

// DelegationToken has a token issued by which others can act for the caller, without
// its Kerberos ticket, for dfs.namenode.delegation.token.max-lifetime (7 days) at most
// (ClientProtocol.getDelegationToken). renewer may renew and cancel it, a short user
// name or a principal: YARN's ResourceManager for what an application is given; empty:
// nobody may renew it.
//
// A NameNode does not say where its token is valid. service is how clients select it:
// creds.NameserviceService where NameNodes share a nameservice, creds.IPService or
// creds.HostService for one that stands alone.
//
// The error is ErrNoDelegationTokens where the cluster is open. Of a secure one it is
// a *yarnrpc.RemoteError, also where the caller itself has come with a token only: its
// connection has to be a Kerberos one.
func (n *NameNode) DelegationToken(ctx context.Context, service, renewer string) (*creds.Token, error) {
	request := &commonpb.GetDelegationTokenRequestProto{Renewer: proto.String(renewer)}
	var response commonpb.GetDelegationTokenResponseProto
	if err := n.rpc.Call(ctx, "getDelegationToken", request, &response); err != nil {
		return nil, fmt.Errorf("get delegation token of %s, for %q to renew: %w", service, renewer, err)
	}
	if response.GetToken() == nil {
		return nil, fmt.Errorf("get delegation token of %s: %w", service, ErrNoDelegationTokens)
	}
	return pbconv.Token(response.GetToken()).WithService(service), nil
}

// RenewDelegationToken prolongs a token by dfs.namenode.delegation.token.renew-interval
// (24 h), not beyond its maximum, and gives its new end
// (ClientProtocol.renewDelegationToken). Only the token's renewer can. A token that the
// NameNode does not know, or that has expired, is yarnrpc.ErrInvalidToken; an open
// cluster knows none. Another caller than the renewer gets yarnrpc.ErrAccessControl.
func (n *NameNode) RenewDelegationToken(ctx context.Context, token *creds.Token) (expires time.Time, err error) {
	request := &commonpb.RenewDelegationTokenRequestProto{Token: pbconv.TokenProto(token)}
	var response commonpb.RenewDelegationTokenResponseProto
	if err := n.rpc.Call(ctx, "renewDelegationToken", request, &response); err != nil {
		return time.Time{}, fmt.Errorf("renew %v: %w", token, err)
	}
	return pbconv.Time(int64(min(response.GetNewExpiryTime(), math.MaxInt64))), nil
}

// CancelDelegationToken makes a token invalid at once
// (ClientProtocol.cancelDelegationToken). Its owner can, and its renewer; errors are as
// with RenewDelegationToken.
func (n *NameNode) CancelDelegationToken(ctx context.Context, token *creds.Token) error {
	request := &commonpb.CancelDelegationTokenRequestProto{Token: pbconv.TokenProto(token)}
	if err := n.rpc.Call(ctx, "cancelDelegationToken", request, new(commonpb.CancelDelegationTokenResponseProto)); err != nil {
		return fmt.Errorf("cancel %v: %w", token, err)
	}
	return nil
}
