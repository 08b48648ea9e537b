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

// NameNode makes the calls of org.apache.hadoop.hdfs.protocol.ClientProtocol
// that colinmarc/hdfs keeps to itself, or makes otherwise. It may be used from any
// goroutine, and any number of calls be under way at once.
type NameNode struct {
	rpc yarnrpc.Caller
}

// NewNameNode makes the calls through rpc, which is for yarnrpc.HDFSClientProtocol.
func NewNameNode(rpc yarnrpc.Caller) *NameNode { return &NameNode{rpc: rpc} }

// Layout is how a range of a file's bytes is spread over DataNodes.
type Layout struct {
	Length   int64 // of the whole file
	Complete bool  // false while a writer has the file open
	Blocks   []Block
}

// Locate gives the blocks that hold a range of a file, in the order of their offsets
// (getBlockLocations); of a range beyond the file's end there are none. A file that does not exist
// is fs.ErrNotExist, one that may not be read fs.ErrPermission, and one whose bytes cannot be read
// as they lie there ErrEncryptionZone or ErrErasureCoded.
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

// Rename moves a file or directory (ClientProtocol.rename2 without
// Options.Rename.OVERWRITE). It is one step: an existing target is fs.ErrExist and
// stays as it is, whoever made it and when; a missing source or a missing parent of
// the target is fs.ErrNotExist.
//
// Through a yarnrpc.Proxy it is asked for again where the answer was lost, and the
// NameNode, or the one that took over from it, answers as it did the first time, or
// would have: it remembers calls for ten minutes
// (dfs.namenode.retrycache.expirytime.millis). Of one that was given up,
// yarnrpc.MaybeSent says whether it may have been done.
func (n *NameNode) Rename(ctx context.Context, from, to string) error {
	request := &hdfspb.Rename2RequestProto{Src: proto.String(from), Dst: proto.String(to), OverwriteDest: proto.Bool(false)}
	if err := n.rpc.Call(ctx, "rename2", request, new(hdfspb.Rename2ResponseProto)); err != nil {
		return fmt.Errorf("rename %s to %s: %w", from, to, err)
	}
	return nil
}

// ErrNotEmpty is a directory that was not removed, as there is something in it.
var ErrNotEmpty = errors.New("directory is not empty")

// Remove removes a file or an empty directory (ClientProtocol.delete, not recursive), in one
// step: what somebody puts into the directory meanwhile stays. One that is not empty is
// ErrNotEmpty, one that is not there fs.ErrNotExist. It is asked for again as Rename is.
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
