package books

import (
	"crypto/hmac"
	"crypto/sha1" // Hadoop's tokens are HMAC-SHA1 (SecretManager#createPassword)
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Key is a master key. A token's password is the HMAC of its identifier under the key.
type Key struct {
	ID     int32
	Secret []byte // as random as the owner needs it; Hadoop's has 20 bytes
}

// Password returns the password of the token with this identifier.
func (k Key) Password(identifier []byte) []byte {
	mac := hmac.New(sha1.New, k.Secret)
	mac.Write(identifier)
	return mac.Sum(nil)
}

// token makes a token. The encoding is deterministic, so that equal tokens have equal
// bytes.
func (k Key) token(kind, service string, id proto.Message) *creds.Token {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(id)
	if err != nil {
		panic("books: token identifier: " + err.Error()) // all required fields are set
	}
	return &creds.Token{Identifier: b, Password: k.Password(b), Kind: kind, Service: service}
}

// signed reports whether a token was made with the key.
func (k Key) signed(t *creds.Token) bool { return hmac.Equal(t.Password, k.Password(t.Identifier)) }

// keyring holds a node's key for tokens of one kind and the key before. A node accepts tokens of both
// (NMTokenSecretManagerInNM, NMContainerTokenSecretManager).
type keyring struct{ current, previous Key }

// take adds a key, which the ResourceManager repeats in each registration.
func (r *keyring) take(k Key) {
	if k.ID != r.current.ID {
		r.current, r.previous = k, r.current
	}
}

func (r *keyring) key(id int32) (k Key, known bool) {
	for _, k := range []Key{r.current, r.previous} {
		if k.ID == id && k.Secret != nil {
			return k, true
		}
	}
	return Key{}, false
}

// Keys are the keys of a cluster, each with another ID.
type Keys struct {
	AMRM       Key
	NM         Key
	Container  Key
	Client     Key // of ClientToAM tokens
	Delegation Key // of clients' tokens
}

func (k *Keys) amrmToken(attempt records.ApplicationAttemptID) *creds.Token {
	return k.AMRM.token(creds.KindAMRM, "", &yarnpb.AMRMTokenIdentifierProto{
		AppAttemptId: pbconv.ApplicationAttemptIDProto(attempt), KeyId: proto.Int32(k.AMRM.ID),
	})
}

func (k *Keys) nmToken(attempt records.ApplicationAttemptID, node records.NodeID, user string) *creds.Token {
	return k.NM.token(creds.KindNM, node.String(), &yarnpb.NMTokenIdentifierProto{
		AppAttemptId: pbconv.ApplicationAttemptIDProto(attempt), NodeId: pbconv.NodeIDProto(node),
		AppSubmitter: proto.String(user), KeyId: proto.Int32(k.NM.ID),
	})
}

func (k *Keys) clientToken(attempt records.ApplicationAttemptID, client string) *creds.Token {
	return k.Client.token(creds.KindClientToAM, "", &yarnpb.ClientToAMTokenIdentifierProto{
		AppAttemptId: pbconv.ApplicationAttemptIDProto(attempt), ClientName: proto.String(client),
	})
}

// ContainerExpiry is how long a granted container waits to be started
// (yarn.resourcemanager.rm.container-allocation.expiry-interval-ms).
const ContainerExpiry = 10 * time.Minute

// containerToken makes the token of a container granted by a ResourceManager that started
// at rm.
func (k *Keys) containerToken(c *container, rm int64, now time.Time) *creds.Token {
	kind := yarnpb.ContainerTypeProto_TASK
	if c.master {
		kind = yarnpb.ContainerTypeProto_APPLICATION_MASTER
	}
	return k.Container.token(creds.KindContainer, c.node.id.String(), &yarnpb.ContainerTokenIdentifierProto{
		ContainerId:         pbconv.ContainerIDProto(c.id),
		NmHostAddr:          proto.String(c.node.id.String()),
		AppSubmitter:        proto.String(c.app.user),
		Resource:            pbconv.ResourceProto(c.resource),
		ExpiryTimeStamp:     proto.Int64(now.Add(ContainerExpiry).UnixMilli()),
		MasterKeyId:         proto.Int32(k.Container.ID),
		RmIdentifier:        proto.Int64(rm),
		Priority:            pbconv.PriorityProto(c.priority),
		CreationTime:        proto.Int64(c.created.UnixMilli()),
		ContainerType:       kind.Enum(),
		ExecutionType:       yarnpb.ExecutionTypeProto_GUARANTEED.Enum(),
		Version:             proto.Int32(0),
		AllocationRequestId: proto.Int64(c.requestID),
	})
}

// AMRMPassword returns the password of an ApplicationMaster's token, for a login. The error is an
// *Exception if the attempt is not live, or its key is too old.
func (b *ResourceManager) AMRMPassword(id []byte) ([]byte, error) {
	parsed, err := identifier.DecodeAMRM(&creds.Token{Kind: creds.KindAMRM, Identifier: id})
	if err != nil {
		return nil, err
	}
	if a := b.attempt(parsed.Attempt); a == nil || !a.live() {
		return nil, invalidToken(parsed.Attempt.String() + " not found in AMRMTokenSecretManager.")
	}
	switch {
	case parsed.KeyID == b.keys.AMRM.ID:
		return b.keys.AMRM.Password(id), nil
	case b.oldAMRM.Secret != nil && parsed.KeyID == b.oldAMRM.ID:
		return b.oldAMRM.Password(id), nil
	default:
		return nil, invalidToken("Invalid AMRMToken from " + parsed.Attempt.String())
	}
}

// AMRMKeyID returns the id of the current key of AMRM tokens.
func (b *ResourceManager) AMRMKeyID() int32 { return b.keys.AMRM.ID }

func invalidToken(message string) error {
	return &Exception{Class: classInvalidToken, Message: message}
}
