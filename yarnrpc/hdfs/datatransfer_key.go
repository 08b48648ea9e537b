package hdfs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// errNotEncrypted says that a NameNode has no data encryption keys, because its
// dfs.encrypt.data.transfer is false.
var errNotEncrypted = errors.New("the NameNode has no data encryption keys: its dfs.encrypt.data.transfer is false")

// dataEncryptionKey is a key for logins at DataNodes if all data transfer is encrypted
// (org.apache.hadoop.hdfs.security.token.block.DataEncryptionKey).
type dataEncryptionKey struct {
	ID        int32 // of the NameNode's own key; this key was made from it and Nonce
	BlockPool string
	Nonce     []byte
	Key       []byte // secret
	Expires   time.Time
	// Algorithm is the cipher to use without AES, 3des or rc4
	// (dfs.encrypt.data.transfer.algorithm). Empty: rc4 if the DataNode has it.
	Algorithm string
}

// Format prints the key's id and pool under every verb, and no byte of the key.
func (k dataEncryptionKey) Format(f fmt.State, _ rune) {
	fmt.Fprintf(f, "data encryption key %d of %s", k.ID, k.BlockPool)
}

// login returns the login with the key (SaslDataTransferClient.getEncryptedStreams).
func (k *dataEncryptionKey) login() transferLogin {
	return transferLogin{
		user:   fmt.Sprintf("%d %s %s", k.ID, k.BlockPool, sasl.EncodeCredential(k.Nonce)),
		secret: k.Key,
		qops:   []sasl.QOP{sasl.QOPPrivacy},
		cipher: k.Algorithm,
	}
}

// newDataEncryptionKey asks for a new key (ClientProtocol.getDataEncryptionKey). It is valid
// as long as block tokens are, dfs.block.access.token.lifetime (10 hours). The error is
// errNotEncrypted if data transfer is not encrypted.
func (n *NameNode) newDataEncryptionKey(ctx context.Context) (*dataEncryptionKey, error) {
	var response hdfspb.GetDataEncryptionKeyResponseProto
	if err := n.rpc.Call(ctx, "getDataEncryptionKey", new(hdfspb.GetDataEncryptionKeyRequestProto), &response); err != nil {
		return nil, fmt.Errorf("get data encryption key: %w", err)
	}
	key := response.GetDataEncryptionKey()
	if key == nil {
		return nil, fmt.Errorf("get data encryption key: %w", errNotEncrypted)
	}
	return &dataEncryptionKey{
		ID:        int32(key.GetKeyId()), // signed in Java
		BlockPool: key.GetBlockPoolId(),
		Nonce:     key.GetNonce(),
		Key:       key.GetEncryptionKey(),
		Expires:   pbconv.Time(int64(key.GetExpiryDate())),
		Algorithm: key.GetEncryptionAlgorithm(),
	}, nil
}

// keyRing keeps a key for all connections. It may be used from any goroutine.
type keyRing struct {
	fetch func(context.Context) (*dataEncryptionKey, error)

	mu      sync.Mutex         // guards current
	current *dataEncryptionKey // nil: to be fetched
}

// get returns a key that has not expired. If there is none, each caller fetches one.
func (r *keyRing) get(ctx context.Context) (*dataEncryptionKey, error) {
	r.mu.Lock()
	key := r.current
	r.mu.Unlock()
	if key != nil && time.Now().Before(key.Expires) {
		return key, nil
	}
	key, err := r.fetch(ctx)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current = key
	return key, nil
}

// forget makes the next get fetch a key, unless another key has replaced this one.
func (r *keyRing) forget(key *dataEncryptionKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.current == key {
		r.current = nil
	}
}
