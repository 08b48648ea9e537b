package hdfs

import (
	"context"
	"fmt"
	"io/fs"
	"math"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
)

// NameNode makes the calls of org.apache.hadoop.hdfs.protocol.ClientProtocol
// that colinmarc/hdfs keeps to itself, or makes otherwise. It may be used from any
// goroutine.
type NameNode struct {
	rpc yarnrpc.Caller
}

// NewNameNode makes the calls through rpc, which is for yarnrpc.HDFSClientProtocol.
func NewNameNode(rpc yarnrpc.Caller) *NameNode { return &NameNode{rpc: rpc} }

// Layout is how a file's bytes are spread over DataNodes.
type Layout struct {
	Length   int64
	Complete bool // false while a writer has the file open
	Blocks   []Block
}

// Block is one block of a file and the DataNodes that have it.
type Block struct {
	Offset, Length int64
	Hosts          []string // as the DataNodes registered (DatanodeID#getHostName), nearest first
	Corrupt        bool     // no good copy is left
}

// Layout gives all blocks of a file in the order of their offsets
// (getBlockLocations). A file that does not exist is fs.ErrNotExist.
func (n *NameNode) Layout(ctx context.Context, path string) (Layout, error) {
	request := &hdfspb.GetBlockLocationsRequestProto{
		Src:    proto.String(path),
		Offset: proto.Uint64(0),
		Length: proto.Uint64(math.MaxInt64),
	}
	var response hdfspb.GetBlockLocationsResponseProto
	if err := n.rpc.Call(ctx, methodGetBlockLocations, request, &response); err != nil {
		return Layout{}, fmt.Errorf("locate blocks of %s: %w", path, err)
	}
	located := response.GetLocations()
	if located == nil {
		return Layout{}, fmt.Errorf("locate blocks of %s: %w", path, fs.ErrNotExist)
	}
	layout := Layout{
		Length:   int64(located.GetFileLength()),
		Complete: !located.GetUnderConstruction(),
	}
	for _, b := range located.GetBlocks() {
		block := Block{
			Offset:  int64(b.GetOffset()),
			Length:  int64(b.GetB().GetNumBytes()),
			Corrupt: b.GetCorrupt(),
		}
		for _, node := range b.GetLocs() {
			block.Hosts = append(block.Hosts, node.GetId().GetHostName())
		}
		layout.Blocks = append(layout.Blocks, block)
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
