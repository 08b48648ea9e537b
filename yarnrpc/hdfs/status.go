package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"math/rand/v2"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
)

// Status is the NameNode's description of a file or directory (HdfsFileStatus).
type Status struct {
	Name    string    // the last part of the path; empty for the requested path
	Length  int64     // in bytes; 0 for directories
	ModTime time.Time // to the millisecond
	IsDir   bool
	Mode    fs.FileMode // the permission bits, and fs.ModeSticky
	Owner   string
	Group   string
	HasACL  bool // an ACL adds to the permissions
	// Refused says why the file cannot be read: ErrEncryptionZone or ErrErasureCoded. It is nil if
	// it can.
	Refused error
	Blocks  []Block // in the order of their offsets; only if requested
}

// Block is one block of a file and the DataNodes that have it.
type Block struct {
	Offset, Length int64    // in the file
	Hosts          []string // as the DataNodes registered (DatanodeID#getHostName)
	Corrupt        bool     // no good copy is left
	located        *hdfspb.LocatedBlockProto
}

// Stat describes a file or directory, without blocks (getFileInfo). The error is fs.ErrNotExist if
// it does not exist.
func (n *NameNode) Stat(ctx context.Context, path string) (Status, error) {
	var response hdfspb.GetFileInfoResponseProto
	err := n.rpc.Call(ctx, methodGetFileInfo, &hdfspb.GetFileInfoRequestProto{Src: proto.String(path)}, &response)
	return described("describe", path, response.GetFs(), err)
}

// Open describes a file and returns all its blocks for reading, in one call (getLocatedFileInfo
// with block tokens, as DFSClient#open of a PathHandle). It is for small files; for large ones use
// Stat, and Locate for a range. For Open, unlike for Locate, the NameNode does not check that the
// caller may read the file, and does not sort DataNodes by distance. Open puts them into random
// order.
func (n *NameNode) Open(ctx context.Context, path string) (Status, error) {
	request := &hdfspb.GetLocatedFileInfoRequestProto{Src: proto.String(path), NeedBlockToken: proto.Bool(true)}
	var response hdfspb.GetLocatedFileInfoResponseProto
	err := n.rpc.Call(ctx, "getLocatedFileInfo", request, &response)
	for _, block := range response.GetFs().GetLocations().GetBlocks() {
		nodes := block.GetLocs()
		rand.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] }) // spreads load; need not be secret
	}
	return described("open", path, response.GetFs(), err)
}

func described(operation, path string, p *hdfspb.HdfsFileStatusProto, err error) (Status, error) {
	if err == nil && p == nil {
		err = fs.ErrNotExist
	}
	var s Status
	if err == nil {
		s = statusOf(p)
		err = possible(s.Length, s.Blocks)
	}
	if err != nil {
		return Status{}, fmt.Errorf("%s %s: %w", operation, path, err)
	}
	return s, nil
}

// errImpossible says that a NameNode reports an impossible number: Hadoop counts bytes in a signed
// long.
var errImpossible = errors.New("the NameNode reports a file or a block of more than 2^63 bytes")

// possible returns errImpossible if a number, or the end of a block, does not fit into a signed long.
func possible(length int64, blocks []Block) error {
	impossible := length < 0
	for _, b := range blocks {
		impossible = impossible || b.Offset < 0 || b.Length < 0 || b.Offset > math.MaxInt64-b.Length
	}
	if impossible {
		return errImpossible
	}
	return nil
}

// List describes the entries of a directory in the order of their names. It yields them in the
// batches of the NameNode: a thousand entries (dfs.ls.limit) or, with blocks, as many entries as
// together have a thousand replicas. If path is a file, List yields it with an empty name. The
// directory may change between two batches: an entry that exists all the time comes once, any
// other once or not at all. Each batch is one call (getListing). The blocks have no tokens, so
// they cannot be read.
//
// It ends at the first error, which is fs.ErrNotExist if path does not exist.
func (n *NameNode) List(ctx context.Context, path string, blocks bool) iter.Seq2[[]Status, error] {
	return func(yield func([]Status, error) bool) {
		for after, more := "", true; more; {
			part, remain, err := n.list(ctx, path, after, blocks)
			if err == nil && remain && (len(part) == 0 || part[len(part)-1].Name <= after) {
				err = errNoProgress
			}
			if err != nil {
				yield(nil, fmt.Errorf("list %s: %w", path, err))
				return
			}
			if !yield(part, nil) {
				return
			}
			if more = remain; more {
				after = part[len(part)-1].Name
			}
		}
	}
}

// errNoProgress says that a NameNode announces more entries but returns none after the last one.
var errNoProgress = errors.New("the NameNode lists the same entries again")

func (n *NameNode) list(ctx context.Context, path, after string, blocks bool) (part []Status, more bool, err error) {
	request := &hdfspb.GetListingRequestProto{Src: proto.String(path), StartAfter: []byte(after), NeedLocation: proto.Bool(blocks)}
	var response hdfspb.GetListingResponseProto
	if err := n.rpc.Call(ctx, "getListing", request, &response); err != nil {
		return nil, false, err
	}
	list := response.GetDirList()
	if list == nil {
		return nil, false, fs.ErrNotExist
	}
	part = make([]Status, 0, len(list.GetPartialListing()))
	for _, p := range list.GetPartialListing() {
		entry := statusOf(p)
		if err := possible(entry.Length, entry.Blocks); err != nil {
			return nil, false, fmt.Errorf("%s: %w", entry.Name, err)
		}
		for i := range entry.Blocks {
			entry.Blocks[i].located = nil // useless without tokens, and there may be a million
		}
		part = append(part, entry)
	}
	return part, list.GetRemainingEntries() > 0, nil
}

func statusOf(p *hdfspb.HdfsFileStatusProto) Status {
	s := Status{
		Name: string(p.GetPath()), Length: int64(p.GetLength()), ModTime: time.UnixMilli(int64(p.GetModificationTime())),
		IsDir: p.GetFileType() == hdfspb.HdfsFileStatusProto_IS_DIR,
		Mode:  modeOf(p.GetPermission()), Owner: p.GetOwner(), Group: p.GetGroup(),
		HasACL: p.GetFlags()&uint32(hdfspb.HdfsFileStatusProto_HAS_ACL) != 0,
		Blocks: blocksOf(p.GetLocations()),
	}
	if !s.IsDir {
		s.Refused = plain(p)
	}
	return s
}

func modeOf(p *hdfspb.FsPermissionProto) fs.FileMode {
	const sticky = 0o1000 // FsPermission#toShort
	mode := fs.FileMode(p.GetPerm()).Perm()
	if p.GetPerm()&sticky != 0 {
		mode |= fs.ModeSticky
	}
	return mode
}

func blocksOf(p *hdfspb.LocatedBlocksProto) []Block {
	var blocks []Block
	for _, b := range p.GetBlocks() {
		block := Block{
			Offset: int64(b.GetOffset()), Length: int64(b.GetB().GetNumBytes()), Corrupt: b.GetCorrupt(), located: b,
		}
		for _, node := range b.GetLocs() {
			block.Hosts = append(block.Hosts, node.GetId().GetHostName())
		}
		blocks = append(blocks, block)
	}
	return blocks
}
