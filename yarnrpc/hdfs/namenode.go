package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

// NameNode makes the calls of org.apache.hadoop.hdfs.protocol.ClientProtocol that colinmarc/hdfs
// does not export or makes differently. Any number of goroutines may call it at once.
type NameNode struct {
	rpc yarnrpc.Caller
}

// NewNameNode makes a NameNode that calls through rpc. The protocol of rpc must be
// yarnrpc.HDFSClientProtocol.
func NewNameNode(rpc yarnrpc.Caller) *NameNode { return &NameNode{rpc: rpc} }

// Layout says on which DataNodes a range of a file's bytes lies.
type Layout struct {
	Length   int64 // of the whole file
	Complete bool  // false while a writer has the file open
	Blocks   []Block
}

// Locate returns the blocks that hold a range of a file, in the order of their offsets
// (getBlockLocations). There are none for a range beyond the file's end. The error is
// fs.ErrNotExist if the file does not exist, fs.ErrPermission if the caller may not read it, and
// ErrEncryptionZone or ErrErasureCoded if its bytes are encrypted or striped.
func (n *NameNode) Locate(ctx context.Context, path string, offset, length int64) (Layout, error) {
	request := &hdfspb.GetBlockLocationsRequestProto{
		Src: proto.String(path), Offset: proto.Uint64(uint64(offset)), Length: proto.Uint64(uint64(length)),
	}
	var response hdfspb.GetBlockLocationsResponseProto
	err := n.rpc.Call(ctx, methodGetBlockLocations, request, &response)
	located := response.GetLocations()
	if err == nil && located == nil {
		err = fs.ErrNotExist
	}
	if err == nil {
		err = plain(located)
	}
	layout := Layout{Length: int64(located.GetFileLength()), Complete: !located.GetUnderConstruction(), Blocks: blocksOf(located)}
	if err == nil {
		err = possible(layout.Length, layout.Blocks)
	}
	if err != nil {
		return Layout{}, fmt.Errorf("locate blocks of %s: %w", path, err)
	}
	return layout, nil
}

// Rename moves a file or directory (ClientProtocol.rename2 without Options.Rename.OVERWRITE). It
// is atomic and never replaces a target. The error is fs.ErrExist if the target exists, and
// fs.ErrNotExist if the source or the target's parent is missing.
//
// A yarnrpc.Proxy repeats the call if the answer is lost. The NameNode, or the one that has taken
// over, then gives the answer of the first try: its retry cache keeps calls for ten minutes
// (dfs.namenode.retrycache.expirytime.millis). If the Proxy gives up, yarnrpc.MaybeSent tells
// whether the rename may have been executed.
func (n *NameNode) Rename(ctx context.Context, from, to string) error {
	request := &hdfspb.Rename2RequestProto{Src: proto.String(from), Dst: proto.String(to), OverwriteDest: proto.Bool(false)}
	if err := n.rpc.Call(ctx, "rename2", request, new(hdfspb.Rename2ResponseProto)); err != nil {
		return fmt.Errorf("rename %s to %s: %w", from, to, err)
	}
	return nil
}

// SetReplication sets the number of a file's replicas (ClientProtocol.setReplication). The NameNode makes or removes replicas
// later. The error is fs.ErrNotExist if there is no such file. Repeating the call changes nothing.
func (n *NameNode) SetReplication(ctx context.Context, path string, replication int) error {
	request := &hdfspb.SetReplicationRequestProto{Src: proto.String(path), Replication: proto.Uint32(uint32(replication))}
	var response hdfspb.SetReplicationResponseProto
	err := n.rpc.Call(ctx, "setReplication", request, &response)
	if err == nil && !response.GetResult() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return fmt.Errorf("set replication of %s: %w", path, err)
	}
	return nil
}

// ErrNotEmpty says that a directory was not removed because it is not empty.
var ErrNotEmpty = errors.New("directory is not empty")

// Remove removes a file or an empty directory (ClientProtocol.delete, not recursive). It is
// atomic: it never removes a file that another client adds meanwhile. The error is ErrNotEmpty if
// the directory is not empty, and fs.ErrNotExist if path does not exist. A yarnrpc.Proxy repeats the
// call as it repeats Rename.
func (n *NameNode) Remove(ctx context.Context, path string) error {
	request := &hdfspb.DeleteRequestProto{Src: proto.String(path), Recursive: proto.Bool(false)}
	var response hdfspb.DeleteResponseProto
	err := n.rpc.Call(ctx, methodDelete, request, &response)
	remote, is := errors.AsType[*yarnrpc.RemoteError](err)
	switch {
	case is && remote.Class == "org.apache.hadoop.fs.PathIsNotEmptyDirectoryException":
		err = ErrNotEmpty
	case err == nil && !response.GetResult():
		err = fs.ErrNotExist
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", path, err)
	}
	return nil
}
