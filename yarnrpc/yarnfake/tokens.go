package yarnfake

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" // Hadoop's tokens are HMAC-SHA1 (SecretManager#createPassword)
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

const classInvalidToken = "org.apache.hadoop.security.token.SecretManager$InvalidToken"

// key is a master key. A token's password is the HMAC of its identifier under the key.
type key struct {
	id     int32
	secret []byte
}

func newKey(id int32) key {
	secret := make([]byte, sha1.Size)
	_, _ = rand.Read(secret) // never fails
	return key{id: id, secret: secret}
}

func (k key) password(identifier []byte) []byte {
	mac := hmac.New(sha1.New, k.secret)
	mac.Write(identifier)
	return mac.Sum(nil)
}

// token makes a token. The encoding is deterministic, so that equal tokens have equal
// bytes.
func (k key) token(kind, service string, id proto.Message) *creds.Token {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(id)
	if err != nil {
		panic("yarnfake: token identifier: " + err.Error()) // all required fields are set
	}
	return &creds.Token{Identifier: b, Password: k.password(b), Kind: kind, Service: service}
}

// signed reports whether a token was made with the key.
func (k key) signed(t *creds.Token) bool { return hmac.Equal(t.Password, k.password(t.Identifier)) }

// keys holds the keys of the cluster.
type keys struct {
	amrm      key
	oldAMRM   *key // still valid after one roll-over
	nm        key
	container key
	client    key // of ClientToAM tokens
	rm        key // of delegation tokens
}

func newKeys() keys {
	return keys{amrm: newKey(1), nm: newKey(2), container: newKey(3), client: newKey(4), rm: newKey(5)}
}

func (k *keys) roll(to key) {
	old := k.amrm
	k.oldAMRM, k.amrm = &old, to
}

func (k *keys) amrmToken(attempt records.ApplicationAttemptID) *creds.Token {
	return k.amrm.token(creds.KindAMRM, "", &yarnpb.AMRMTokenIdentifierProto{
		AppAttemptId: pbconv.ApplicationAttemptIDProto(attempt), KeyId: proto.Int32(k.amrm.id),
	})
}

func (k *keys) nmToken(attempt records.ApplicationAttemptID, node records.NodeID, user string) *creds.Token {
	return k.nm.token(creds.KindNM, node.String(), &yarnpb.NMTokenIdentifierProto{
		AppAttemptId: pbconv.ApplicationAttemptIDProto(attempt), NodeId: pbconv.NodeIDProto(node),
		AppSubmitter: proto.String(user), KeyId: proto.Int32(k.nm.id),
	})
}

func (k *keys) clientToken(attempt records.ApplicationAttemptID, client string) *creds.Token {
	return k.client.token(creds.KindClientToAM, "", &yarnpb.ClientToAMTokenIdentifierProto{
		AppAttemptId: pbconv.ApplicationAttemptIDProto(attempt), ClientName: proto.String(client),
	})
}

// containerExpiry is how long a granted container waits to be started
// (yarn.resourcemanager.rm.container-allocation.expiry-interval-ms).
const containerExpiry = 10 * time.Minute

// containerToken makes the token of a container granted by a ResourceManager that started
// at rm.
func (k *keys) containerToken(c *container, rm int64, now time.Time) *creds.Token {
	kind := yarnpb.ContainerTypeProto_TASK
	if c.master {
		kind = yarnpb.ContainerTypeProto_APPLICATION_MASTER
	}
	return k.container.token(creds.KindContainer, c.node.id.String(), &yarnpb.ContainerTokenIdentifierProto{
		ContainerId:         pbconv.ContainerIDProto(c.id),
		NmHostAddr:          proto.String(c.node.id.String()),
		AppSubmitter:        proto.String(c.app.user),
		Resource:            pbconv.ResourceProto(c.resource),
		ExpiryTimeStamp:     proto.Int64(now.Add(containerExpiry).UnixMilli()),
		MasterKeyId:         proto.Int32(k.container.id),
		RmIdentifier:        proto.Int64(rm),
		Priority:            pbconv.PriorityProto(c.priority),
		CreationTime:        proto.Int64(c.created.UnixMilli()),
		ContainerType:       kind.Enum(),
		ExecutionType:       yarnpb.ExecutionTypeProto_GUARANTEED.Enum(),
		Version:             proto.Int32(0),
		AllocationRequestId: proto.Int64(c.requestID),
	})
}

// amrmPassword returns the password of an ApplicationMaster's token, if its attempt is
// live.
func (b *books) amrmPassword(id []byte) ([]byte, error) {
	parsed, err := identifier.DecodeAMRM(&creds.Token{Kind: creds.KindAMRM, Identifier: id})
	if err != nil {
		return nil, err
	}
	if a := b.attempt(parsed.Attempt); a == nil || !a.live() {
		return nil, rpctest.Exception(classInvalidToken, parsed.Attempt.String()+" not found in AMRMTokenSecretManager.")
	}
	switch {
	case parsed.KeyID == b.keys.amrm.id:
		return b.keys.amrm.password(id), nil
	case b.keys.oldAMRM != nil && parsed.KeyID == b.keys.oldAMRM.id:
		return b.keys.oldAMRM.password(id), nil
	default:
		return nil, rpctest.Exception(classInvalidToken, "Invalid AMRMToken from "+parsed.Attempt.String())
	}
}

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

func (b *books) issue(now time.Time, owner, renewer string) *creds.Token {
	b.tokens.last++
	if b.tokens.expiry == nil {
		b.tokens.expiry = make(map[int32]time.Time)
	}
	b.tokens.expiry[b.tokens.last] = now.Add(delegationRenewal)
	return b.keys.rm.token(creds.KindRMDelegation, "", &yarnpb.YARNDelegationTokenIdentifierProto{
		Owner: proto.String(owner), Renewer: proto.String(renewer), RealUser: proto.String(""),
		IssueDate: proto.Int64(now.UnixMilli()), MaxDate: proto.Int64(now.Add(delegationLifetime).UnixMilli()),
		SequenceNumber: proto.Int32(b.tokens.last), MasterKeyId: proto.Int32(b.keys.rm.id),
	})
}

// delegation returns a valid token, by its identifier.
func (b *books) delegation(now time.Time, id []byte) (identifier.Delegation, error) {
	d, err := identifier.DecodeDelegation(&creds.Token{Kind: creds.KindRMDelegation, Identifier: id})
	if err != nil {
		return d, err
	}
	expires, known := b.tokens.expiry[d.Sequence]
	switch {
	case !known:
		return d, rpctest.Exception(classInvalidToken, "token can't be found in cache")
	case now.After(expires):
		return d, rpctest.Exception(classInvalidToken, "token is expired")
	}
	return d, nil
}

// delegationPassword returns the password of a delegation token for a login.
func (b *books) delegationPassword(now time.Time, id []byte) ([]byte, error) {
	_, err := b.delegation(now, id)
	return b.keys.rm.password(id), err
}
