package books

import (
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
)

// Lifetimes of delegation tokens (yarn.resourcemanager.delegation.token.*).
const (
	delegationRenewal  = 24 * time.Hour
	delegationLifetime = 7 * 24 * time.Hour
)

// delegationTokens holds the issued tokens, by number.
type delegationTokens struct {
	last   int32
	expiry map[int32]time.Time
}

func (b *ResourceManager) issue(now time.Time, owner, renewer string) *creds.Token {
	b.tokens.last++
	if b.tokens.expiry == nil {
		b.tokens.expiry = make(map[int32]time.Time)
	}
	b.tokens.expiry[b.tokens.last] = now.Add(delegationRenewal)
	return b.keys.Delegation.token(creds.KindRMDelegation, "", &yarnpb.YARNDelegationTokenIdentifierProto{
		Owner: proto.String(owner), Renewer: proto.String(renewer), RealUser: proto.String(""),
		IssueDate: proto.Int64(now.UnixMilli()), MaxDate: proto.Int64(now.Add(delegationLifetime).UnixMilli()),
		SequenceNumber: proto.Int32(b.tokens.last), MasterKeyId: proto.Int32(b.keys.Delegation.ID),
	})
}

// delegation returns a valid token, by its identifier.
func (b *ResourceManager) delegation(now time.Time, id []byte) (identifier.Delegation, error) {
	d, err := identifier.DecodeDelegation(&creds.Token{Kind: creds.KindRMDelegation, Identifier: id})
	if err != nil {
		return d, err
	}
	expires, known := b.tokens.expiry[d.Sequence]
	switch {
	case !known:
		return d, invalidToken("token can't be found in cache")
	case now.After(expires):
		return d, invalidToken("token is expired")
	}
	return d, nil
}

// DelegationPassword returns the password of a delegation token, for a login. The error is an
// *Exception if the token has expired or was cancelled.
func (b *ResourceManager) DelegationPassword(now time.Time, id []byte) ([]byte, error) {
	_, err := b.delegation(now, id)
	return b.keys.Delegation.Password(id), err
}

func (b *ResourceManager) renew(now time.Time, user string, r *commonpb.RenewDelegationTokenRequestProto) (proto.Message, error) {
	d, err := b.delegation(now, r.GetToken().GetIdentifier())
	if err == nil && d.Renewer != user {
		err = &Exception{classAccessControl, user + " tries to renew a token with renewer " + d.Renewer}
	}
	if err != nil {
		return nil, err
	}
	expiry := now.Add(delegationRenewal)
	if d.Max.Before(expiry) {
		expiry = d.Max
	}
	b.tokens.expiry[d.Sequence] = expiry
	return &commonpb.RenewDelegationTokenResponseProto{NewExpiryTime: proto.Uint64(uint64(expiry.UnixMilli()))}, nil
}

func (b *ResourceManager) cancel(now time.Time, user string, r *commonpb.CancelDelegationTokenRequestProto) (proto.Message, error) {
	d, err := b.delegation(now, r.GetToken().GetIdentifier())
	if err == nil && d.Renewer != user && d.Owner != user {
		err = &Exception{classAccessControl, user + " is not authorized to cancel the token"}
	}
	if err != nil {
		return nil, err
	}
	delete(b.tokens.expiry, d.Sequence)
	return &commonpb.CancelDelegationTokenResponseProto{}, nil
}
