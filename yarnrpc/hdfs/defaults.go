package hdfs

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
)

// Defaults are the settings of a NameNode for its clients (FsServerDefaults).
type Defaults struct {
	BlockSize   int64 // in bytes
	Replication int
	// EncryptDataTransfer says that DataNodes accept only encrypted connections
	// (dfs.encrypt.data.transfer).
	EncryptDataTransfer bool
	// KeyProvider is the URI of the key server for encryption zones. Empty: there are
	// no such zones.
	KeyProvider string
}

// Defaults asks for the NameNode's settings (ClientProtocol.getServerDefaults). The
// caller needs no rights, so the call can test whether a NameNode works. A standby
// answers yarnrpc.ErrStandby.
func (n *NameNode) Defaults(ctx context.Context) (Defaults, error) {
	var response hdfspb.GetServerDefaultsResponseProto
	if err := n.rpc.Call(ctx, methodServerDefaults, &hdfspb.GetServerDefaultsRequestProto{}, &response); err != nil {
		return Defaults{}, fmt.Errorf("read defaults of the NameNode: %w", err)
	}
	d := response.GetServerDefaults()
	return Defaults{
		BlockSize: int64(d.GetBlockSize()), Replication: int(d.GetReplication()),
		EncryptDataTransfer: d.GetEncryptDataTransfer(), KeyProvider: d.GetKeyProviderUri(),
	}, nil
}
