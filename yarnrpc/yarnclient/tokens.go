package yarnclient

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
)

// ErrNoToken says that the ResourceManager's answer holds no token.
var ErrNoToken = errors.New("the ResourceManager's answer holds no token")

// DelegationToken asks for a delegation token (getDelegationToken). A program that has the
// token can log in to the ResourceManagers as the client's user, without Kerberos. The
// token's service names all ResourceManagers. The token expires after
// yarn.resourcemanager.delegation.token.renew-interval (a day) unless the renewer renews
// it, and at the latest after yarn.resourcemanager.delegation.token.max-lifetime (7 days).
// renewer is a user's short name.
//
// A secure cluster gives tokens only to clients that have logged in with Kerberos.
func (c *Client) DelegationToken(ctx context.Context, renewer string) (*creds.Token, error) {
	service, err := c.tokenService(ctx)
	if err != nil {
		return nil, fmt.Errorf("get delegation token: %w", err)
	}
	request := &commonpb.GetDelegationTokenRequestProto{Renewer: proto.String(renewer)}
	var response commonpb.GetDelegationTokenResponseProto
	if err := c.rpc.Call(ctx, "getDelegationToken", request, &response); err != nil {
		return nil, fmt.Errorf("get delegation token: %w", err)
	}
	token := pbconv.Token(response.GetToken())
	if token == nil {
		return nil, fmt.Errorf("get delegation token: %w", ErrNoToken)
	}
	return token.WithService(service), nil // the server leaves it empty
}

// RenewDelegationToken renews a token and returns its new end (renewDelegationToken). Only
// the token's renewer may do that. A token that has expired or was cancelled cannot be
// renewed. In these cases the error is yarnrpc.ErrYarn.
func (c *Client) RenewDelegationToken(ctx context.Context, token *creds.Token) (time.Time, error) {
	request := &commonpb.RenewDelegationTokenRequestProto{Token: pbconv.TokenProto(token)}
	var response commonpb.RenewDelegationTokenResponseProto
	if err := c.rpc.Call(ctx, "renewDelegationToken", request, &response); err != nil {
		return time.Time{}, fmt.Errorf("renew %s: %w", token, err)
	}
	return pbconv.Time(int64(response.GetNewExpiryTime())), nil
}

// CancelDelegationToken invalidates a token (cancelDelegationToken). Only the token's
// owner and its renewer may do that. The error is yarnrpc.ErrYarn if the token has expired
// or was cancelled.
func (c *Client) CancelDelegationToken(ctx context.Context, token *creds.Token) error {
	request := &commonpb.CancelDelegationTokenRequestProto{Token: pbconv.TokenProto(token)}
	if err := c.rpc.Call(ctx, "cancelDelegationToken", request, &commonpb.CancelDelegationTokenResponseProto{}); err != nil {
		return fmt.Errorf("cancel %s: %w", token, err)
	}
	return nil
}

// tokenService names all ResourceManagers, as ClientRMProxy#getRMDelegationTokenService
// does. Java programs find the token by this service.
func (c *Client) tokenService(ctx context.Context) (string, error) {
	services := make([]string, len(c.addresses))
	for i, address := range c.addresses {
		var err error
		if services[i], err = creds.ServiceOf(ctx, address, !c.namedTokens); err != nil {
			return "", err
		}
	}
	return creds.ListService(services...), nil
}

// TokenSource returns a function for RPC.Token. For each connection, the function calls
// credentials and returns the ResourceManager's token from the result, so the next
// connection uses new credentials. The function returns nil if the credentials are nil or
// hold no token. It may look up the ResourceManager's name.
func (o Options) TokenSource(credentials func() *creds.Credentials) func(ctx context.Context, address string) (*creds.Token, error) {
	return func(ctx context.Context, address string) (*creds.Token, error) {
		have := credentials()
		if have == nil || have.ByKind(creds.KindRMDelegation) == nil { // without a token, no look-up of the host
			return nil, nil
		}
		service, err := creds.ServiceOf(ctx, address, !o.NamedTokens)
		if err != nil {
			return nil, err
		}
		return have.Select(creds.KindRMDelegation, service), nil
	}
}
