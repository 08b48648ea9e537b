package hdfs

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// Errors about files whose bytes on DataNodes differ from their content. The library
// supports neither kind: it would return the raw bytes as content, and write content
// where other clients expect encrypted or striped bytes. So on the connections of
// Dialer.DialNameNode, its calls for such files fail before a byte is read or written.
// Such files can be listed, described, moved and removed.
var (
	// ErrEncryptionZone says that a file lies in an HDFS encryption zone and cannot be
	// read, made or extended.
	ErrEncryptionZone = errors.New("file lies in an HDFS encryption zone, which this client does not support: use a path outside the zone")
	// ErrErasureCoded says that an erasure coding policy stripes a file, which cannot be
	// read, made or extended.
	ErrErasureCoded = errors.New("file is erasure coded, which this client does not support: use a copy in a directory with replication")
)

// unknownCryptoVersion is the exception with which a NameNode refuses a new file in an
// encryption zone to a client that names no way to encrypt.
const unknownCryptoVersion = "org.apache.hadoop.hdfs.UnknownCryptoProtocolVersionException"

// Calls that callConn makes beside the library's own.
const (
	methodGetFileInfo = "getFileInfo"
	methodDelete      = "delete"
)

// answerTo returns the message that receives the answer to a call. A message without
// fields keeps all bytes. Only answers that say how a file is stored, or whether it is
// complete, are decoded.
func answerTo(method string) proto.Message {
	switch method {
	case methodCreate:
		return new(hdfspb.CreateResponseProto)
	case methodAppend:
		return new(hdfspb.AppendResponseProto)
	case methodComplete:
		return new(hdfspb.CompleteResponseProto)
	case methodAddBlock:
		return new(hdfspb.AddBlockResponseProto)
	case methodGetBlockLocations:
		return new(hdfspb.GetBlockLocationsResponseProto)
	default:
		return new(emptypb.Empty)
	}
}

// callPlain makes a call. It returns ErrEncryptionZone or ErrErasureCoded if the call concerns a
// file that the library cannot handle.
func (c *callConn) callPlain(ctx context.Context, request wire.Request, answered proto.Message) error {
	asked := new(emptypb.Empty) // a message without fields keeps all bytes as unknown fields
	if err := request.Decode(asked); err != nil {
		return err
	}
	if request.Call.Method == methodAppend { // an append cannot be undone
		if err := c.appendable(ctx, request); err != nil {
			return err
		}
	}
	if err := c.rpc.Call(ctx, request.Call.Method, asked, answered); err != nil {
		if remote, is := errors.AsType[*yarnrpc.RemoteError](err); is && remote.Class == unknownCryptoVersion {
			return ErrEncryptionZone
		}
		return err
	}
	switch answered := answered.(type) {
	case *hdfspb.GetBlockLocationsResponseProto:
		return plain(answered.GetLocations())
	case *hdfspb.AppendResponseProto:
		return plain(answered.GetStat())
	case *hdfspb.CreateResponseProto: // only the new file shows the directory's policy
		if refused := plain(answered.GetFs()); refused != nil {
			return c.uncreate(ctx, request, refused)
		}
	}
	return nil
}

// plain returns an error if a file is encrypted or striped.
func plain(file interface {
	GetFileEncryptionInfo() *hdfspb.FileEncryptionInfoProto
	GetEcPolicy() *hdfspb.ErasureCodingPolicyProto
},
) error {
	switch {
	case file.GetFileEncryptionInfo() != nil:
		return ErrEncryptionZone
	case file.GetEcPolicy() != nil:
		return ErrErasureCoded
	default:
		return nil
	}
}

// appendable checks a file before it is opened for append.
func (c *callConn) appendable(ctx context.Context, request wire.Request) error {
	var asked hdfspb.AppendRequestProto
	if err := request.Decode(&asked); err != nil {
		return err
	}
	var file hdfspb.GetFileInfoResponseProto
	if err := c.rpc.Call(ctx, methodGetFileInfo, &hdfspb.GetFileInfoRequestProto{Src: asked.Src}, &file); err != nil {
		return err
	}
	return plain(file.GetFs())
}

// uncreate removes the file that a refused call has made, and returns the refusal.
func (c *callConn) uncreate(ctx context.Context, request wire.Request, refused error) error {
	var asked hdfspb.CreateRequestProto
	if err := request.Decode(&asked); err != nil {
		return errors.Join(refused, err)
	}
	remove := &hdfspb.DeleteRequestProto{Src: asked.Src, Recursive: proto.Bool(false)}
	if err := c.rpc.Call(ctx, methodDelete, remove, new(hdfspb.DeleteResponseProto)); err != nil {
		return fmt.Errorf("%w (an empty file remains: %w)", refused, err)
	}
	return refused
}
