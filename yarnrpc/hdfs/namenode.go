package hdfs

import (
	"context"
	"fmt"
	"io/fs"
	"math"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
)

// Caller makes RPCs of ClientProtocol; *yarnrpc.Proxy and *yarnrpc.Conn are
// such.
type Caller interface {
	Call(ctx context.Context, method string, request, response proto.Message) error
}

// NameNode makes the calls of org.apache.hadoop.hdfs.protocol.ClientProtocol
// that colinmarc/hdfs keeps to itself. It may be used from any goroutine.
type NameNode struct {
	rpc Caller
}

// NewNameNode makes the calls through rpc.
func NewNameNode(rpc Caller) *NameNode { return &NameNode{rpc: rpc} }

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
	if err := n.rpc.Call(ctx, "getBlockLocations", request, &response); err != nil {
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
