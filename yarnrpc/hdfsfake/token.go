package hdfsfake

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
)

const (
	classInvalidToken  = "org.apache.hadoop.security.token.SecretManager$InvalidToken"
	classAccessControl = "org.apache.hadoop.security.AccessControlException"
)

// Life of delegation tokens (dfs.namenode.delegation.token.renew-interval, max-lifetime).
const (
	renewInterval = 24 * time.Hour
	maxLifetime   = 7 * renewInterval
)

// issued is a delegation token as the NameNode keeps it.
type issued struct {
	owner, renewer string
	password       []byte
	max            time.Time
}

// tokens holds the delegation tokens, by their identifiers.
type tokens struct {
	byIdentifier map[string]issued
	sequence     int64
}

func newTokens() tokens { return tokens{byIdentifier: make(map[string]issued)} }

// user returns the user of a call. With a token it is the token's owner.
func (t *tokens) user(call *rpctest.Call) string {
	if call.Token {
		return t.byIdentifier[call.User].owner
	}
	return call.User
}

// password returns the password of a token, for its login.
func (f *Fake) password(identifier []byte) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	token, is := f.tokens.byIdentifier[string(identifier)]
	if !is {
		return nil, rpctest.Exception(classInvalidToken, "token can't be found in cache")
	}
	return token.password, nil
}

// tokenCall answers the calls about delegation tokens.
func (f *Fake) tokenCall(call *rpctest.Call, c Call) (proto.Message, error) {
	switch c.Method {
	case "getDelegationToken":
		return rpctest.With(call, func(r *commonpb.GetDelegationTokenRequestProto) (proto.Message, error) { return f.issue(r, c) })
	case "renewDelegationToken":
		return rpctest.With(call, func(r *commonpb.RenewDelegationTokenRequestProto) (proto.Message, error) {
			token, err := f.tokens.find(r.GetToken())
			if err != nil {
				return nil, err
			}
			if token.renewer != c.User {
				return nil, rpctest.Exception(classAccessControl, fmt.Sprintf("%s tries to renew a token with non-matching renewer %s", c.User, token.renewer))
			}
			ends := time.Now().Add(renewInterval)
			if token.max.Before(ends) {
				ends = token.max
			}
			return &commonpb.RenewDelegationTokenResponseProto{NewExpiryTime: proto.Uint64(uint64(ends.UnixMilli()))}, nil
		})
	case "cancelDelegationToken":
		return rpctest.With(call, func(r *commonpb.CancelDelegationTokenRequestProto) (proto.Message, error) {
			if _, err := f.tokens.find(r.GetToken()); err != nil {
				return nil, err
			}
			delete(f.tokens.byIdentifier, string(r.GetToken().GetIdentifier()))
			return new(commonpb.CancelDelegationTokenResponseProto), nil
		})
	default:
		return nil, rpctest.NoSuchMethod(call)
	}
}

// find returns a token that the NameNode knows.
func (t *tokens) find(shown *commonpb.TokenProto) (issued, error) {
	token, is := t.byIdentifier[string(shown.GetIdentifier())]
	if !is || !bytes.Equal(token.password, shown.GetPassword()) {
		return issued{}, rpctest.Exception(classInvalidToken, "token can't be found in cache")
	}
	return token, nil
}

// issue makes a token. An open cluster answers without one.
func (f *Fake) issue(r *commonpb.GetDelegationTokenRequestProto, c Call) (proto.Message, error) {
	if !f.config.Tokens {
		return new(commonpb.GetDelegationTokenResponseProto), nil
	}
	if c.Token {
		return nil, rpctest.Exception("java.io.IOException", "Delegation Token can be issued only with kerberos or web authentication")
	}
	now := time.Now()
	f.tokens.sequence++
	password := make([]byte, 20)
	_, _ = rand.Read(password) // never fails
	token := issued{owner: c.User, renewer: r.GetRenewer(), password: password, max: now.Add(maxLifetime)}
	// AbstractDelegationTokenIdentifier: version, owner, renewer, real user, times, number, key.
	identifier := []byte{0}
	for _, text := range []string{token.owner, token.renewer, ""} {
		identifier = append(append(identifier, byte(len(text))), text...)
	}
	for _, n := range []int64{now.UnixMilli(), token.max.UnixMilli(), f.tokens.sequence, 1} {
		identifier = binary.BigEndian.AppendUint64(append(identifier, 0x88), uint64(n)) // WritableUtils#writeVLong of eight bytes
	}
	f.tokens.byIdentifier[string(identifier)] = token
	return &commonpb.GetDelegationTokenResponseProto{Token: pbconv.TokenProto(&creds.Token{
		Identifier: identifier, Password: password, Kind: creds.KindHDFSDelegation,
	})}, nil
}
