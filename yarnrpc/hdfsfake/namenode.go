package hdfsfake

import (
	"fmt"
	"path"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/commonpb"
	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
)

// Java classes of exceptions.
const (
	classNotFound = "java.io.FileNotFoundException"
	classExists   = "org.apache.hadoop.fs.FileAlreadyExistsException"
	classStandby  = "org.apache.hadoop.ipc.StandbyException"
	classSafeMode = "org.apache.hadoop.hdfs.server.namenode.SafeModeException"
)

// methodDelete is the method of ClientProtocol, not of HTTP.
const methodDelete = "delete"

// poolID is the block pool of all blocks.
const poolID = "BP-fake"

// Call is one call that a NameNode has received.
type Call struct {
	NameNode int // its number
	Method   string
	User     string
	Token    bool // a delegation token has logged the user in
	Retry    int  // tries of the same call before this one
	Executed bool // false: refused, dropped before, or answered from the retry cache
}

// Read is one request to a DataNode to read a block.
type Read struct {
	DataNode string
	Offset   int64 // in the block
}

// answer is the result of a call.
type answer struct {
	message proto.Message
	err     error
}

// Calls returns the calls of a method so far, to any NameNode.
func (f *Fake) Calls(method string) []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.calls), func(c Call) bool { return c.Method != method })
}

// Executed returns how often a method was executed.
func (f *Fake) Executed(method string) int {
	return len(slices.DeleteFunc(f.Calls(method), func(c Call) bool { return !c.Executed }))
}

// Reads returns the reads of blocks so far.
func (f *Fake) Reads() []Read {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.reads)
}

// call answers a call, unless a fault prevents it.
func (n *nameNode) call(call *rpctest.Call) (proto.Message, error) {
	f := n.fake
	fault := f.faults.take(call.Call.Method)
	if fault.delay > 0 && !wait(call, fault.delay) {
		return nil, nil
	}
	a := f.execute(n, call, fault.when == Before && (fault.drop || fault.err != nil))
	switch {
	case fault.drop:
		call.Conn.Close()
		return nil, nil
	case fault.err != nil:
		return nil, fault.err
	}
	return a.message, a.err
}

// wait waits. It reports whether the time has passed and the caller is still there.
func wait(call *rpctest.Call, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-call.Gone:
		return false
	}
}

// execute executes a call, unless it is refused, and records it.
func (f *Fake) execute(n *nameNode, call *rpctest.Call, refused bool) answer {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := Call{NameNode: n.number, Method: call.Call.Method, User: f.tokens.user(call), Token: call.Token, Retry: int(call.Call.Retry)}
	defer func() { f.calls = append(f.calls, c) }()
	if n.number != f.active {
		return answer{err: rpctest.Exception(classStandby, "Operation category READ is not supported in state standby")}
	}
	if refused {
		return answer{}
	}
	if f.safeMode && writes(call.Call.Method) {
		return answer{err: rpctest.Exception(classSafeMode, "Cannot "+call.Call.Method+". Name node is in safe mode.")}
	}
	key := fmt.Sprintf("%x/%d", call.Call.ClientID, call.ID)
	if known, is := f.cache[key]; is {
		return known
	}
	c.Executed = true
	var a answer
	a.message, a.err = f.dispatch(call, c)
	switch call.Call.Method {
	case "create", methodDelete, "rename2": // methods @AtMostOnce of ClientProtocol; a failed call is executed again (RetryCache.setState)
		if a.err == nil {
			f.cache[key] = a
		}
	}
	return a
}

// writes reports whether a NameNode in safe mode refuses a method.
func writes(method string) bool {
	switch method {
	case "create", "addBlock", "updateBlockForPipeline", "complete", methodDelete, "mkdirs", "rename2", "setReplication":
		return true
	default:
		return false
	}
}

// dispatch decodes a call's request and executes it.
func (f *Fake) dispatch(call *rpctest.Call, c Call) (proto.Message, error) {
	switch c.Method {
	case "getServerDefaults":
		return f.serverDefaults(), nil
	case "getFileInfo":
		return rpctest.With(call, f.fileInfo)
	case "getLocatedFileInfo":
		return rpctest.With(call, f.locatedFileInfo)
	case "getListing":
		return rpctest.With(call, f.listing)
	case "getBlockLocations":
		return rpctest.With(call, f.blockLocations)
	case "create":
		return rpctest.With(call, func(r *hdfspb.CreateRequestProto) (proto.Message, error) { return f.create(r, c.User) })
	case "addBlock":
		return rpctest.With(call, f.addBlock)
	case "updateBlockForPipeline":
		return rpctest.With(call, f.updateBlock)
	case "complete":
		return rpctest.With(call, f.complete)
	case "renewLease":
		return new(hdfspb.RenewLeaseResponseProto), nil
	case methodDelete:
		return rpctest.With(call, func(r *hdfspb.DeleteRequestProto) (proto.Message, error) {
			was, err := f.space.remove(r.GetSrc(), r.GetRecursive())
			return &hdfspb.DeleteResponseProto{Result: proto.Bool(was)}, err
		})
	case "mkdirs":
		return rpctest.With(call, func(r *hdfspb.MkdirsRequestProto) (proto.Message, error) {
			var err error
			if !r.GetCreateParent() && f.space.inodes[r.GetSrc()] == nil {
				err = f.space.parent(r.GetSrc())
			}
			if err == nil {
				err = f.space.mkdirs(r.GetSrc(), r.GetMasked().GetPerm(), c.User)
			}
			return &hdfspb.MkdirsResponseProto{Result: proto.Bool(err == nil)}, err
		})
	case "setReplication":
		return rpctest.With(call, func(r *hdfspb.SetReplicationRequestProto) (proto.Message, error) {
			n := f.space.inodes[r.GetSrc()]
			if n != nil {
				n.replication = r.GetReplication()
			}
			return &hdfspb.SetReplicationResponseProto{Result: proto.Bool(n != nil)}, nil
		})
	case "rename2":
		return rpctest.With(call, func(r *hdfspb.Rename2RequestProto) (proto.Message, error) {
			return new(hdfspb.Rename2ResponseProto), f.space.rename(r.GetSrc(), r.GetDst())
		})
	default:
		return f.tokenCall(call, c)
	}
}

func (f *Fake) serverDefaults() proto.Message {
	return &hdfspb.GetServerDefaultsResponseProto{ServerDefaults: &hdfspb.FsServerDefaultsProto{
		BlockSize: proto.Uint64(uint64(f.config.BlockSize)), BytesPerChecksum: proto.Uint32(bytesPerChecksum),
		WritePacketSize: proto.Uint32(packetBytes), Replication: proto.Uint32(1), FileBufferSize: proto.Uint32(4096),
	}}
}

func (f *Fake) fileInfo(r *hdfspb.GetFileInfoRequestProto) (proto.Message, error) {
	n := f.space.inodes[r.GetSrc()]
	if n == nil {
		return new(hdfspb.GetFileInfoResponseProto), nil
	}
	return &hdfspb.GetFileInfoResponseProto{Fs: f.status(n, "")}, nil
}

// status describes an inode. name is empty for the requested path itself.
func (f *Fake) status(n *inode, name string) *hdfspb.HdfsFileStatusProto {
	status := &hdfspb.HdfsFileStatusProto{
		FileType: hdfspb.HdfsFileStatusProto_IS_FILE.Enum(), Path: []byte(name), Length: proto.Uint64(n.length()),
		Permission: &hdfspb.FsPermissionProto{Perm: proto.Uint32(n.perm)}, Owner: proto.String(n.owner), Group: proto.String("supergroup"),
		ModificationTime: proto.Uint64(uint64(n.modified.UnixMilli())), AccessTime: proto.Uint64(uint64(n.modified.UnixMilli())),
		BlockReplication: proto.Uint32(n.replication), Blocksize: proto.Uint64(uint64(f.config.BlockSize)), FileId: proto.Uint64(n.id),
	}
	if n.dir {
		status.FileType = hdfspb.HdfsFileStatusProto_IS_DIR.Enum()
		return status
	}
	switch n.kind {
	case plain:
	case encrypted:
		status.FileEncryptionInfo = encryptionInfo()
	case striped:
		status.EcPolicy = policy()
	}
	return status
}

func (f *Fake) locatedFileInfo(r *hdfspb.GetLocatedFileInfoRequestProto) (proto.Message, error) {
	n := f.space.inodes[r.GetSrc()]
	if n == nil {
		return new(hdfspb.GetLocatedFileInfoResponseProto), nil
	}
	return &hdfspb.GetLocatedFileInfoResponseProto{Fs: f.statusWithBlocks(n, "")}, nil
}

// statusWithBlocks describes an inode and the places of its blocks.
func (f *Fake) statusWithBlocks(n *inode, name string) *hdfspb.HdfsFileStatusProto {
	status := f.status(n, name)
	if !n.dir {
		status.Locations = f.locations(n)
	}
	return status
}

func encryptionInfo() *hdfspb.FileEncryptionInfoProto {
	return &hdfspb.FileEncryptionInfoProto{
		Suite: hdfspb.CipherSuiteProto_AES_CTR_NOPADDING.Enum(), CryptoProtocolVersion: hdfspb.CryptoProtocolVersionProto_ENCRYPTION_ZONES.Enum(),
		Key: make([]byte, 16), Iv: make([]byte, 16), KeyName: proto.String("key"), EzKeyVersionName: proto.String("key@0"),
	}
}

func policy() *hdfspb.ErasureCodingPolicyProto {
	return &hdfspb.ErasureCodingPolicyProto{Id: proto.Uint32(1), Name: proto.String("RS-6-3-1024k")}
}

// listing returns a part of a directory: ListLimit entries or, with blocks, as many entries as have
// that many replicas.
func (f *Fake) listing(r *hdfspb.GetListingRequestProto) (proto.Message, error) {
	n := f.space.inodes[r.GetSrc()]
	if n == nil {
		return new(hdfspb.GetListingResponseProto), nil
	}
	describe := f.status
	if r.GetNeedLocation() {
		describe = f.statusWithBlocks
	}
	list := &hdfspb.DirectoryListingProto{RemainingEntries: proto.Uint32(0)}
	if !n.dir {
		list.PartialListing = append(list.PartialListing, describe(n, ""))
		return &hdfspb.GetListingResponseProto{DirList: list}, nil
	}
	names := f.space.children(r.GetSrc(), string(r.GetStartAfter()))
	replicas := 0
	for i, name := range names {
		if i == f.config.ListLimit || replicas >= f.config.ListLimit {
			list.RemainingEntries = proto.Uint32(uint32(len(names) - i))
			break
		}
		entry := describe(f.space.inodes[path.Join(r.GetSrc(), name)], name)
		for _, block := range entry.GetLocations().GetBlocks() {
			replicas += len(block.GetLocs())
		}
		list.PartialListing = append(list.PartialListing, entry)
	}
	return &hdfspb.GetListingResponseProto{DirList: list}, nil
}

func (f *Fake) blockLocations(r *hdfspb.GetBlockLocationsRequestProto) (proto.Message, error) {
	n := f.space.inodes[r.GetSrc()]
	switch {
	case n == nil:
		return nil, rpctest.Exception(classNotFound, "File does not exist: "+r.GetSrc())
	case n.dir:
		return nil, rpctest.Exception(classNotFound, "Path is not a file: "+r.GetSrc())
	}
	located := f.locations(n)
	located.Blocks = slices.DeleteFunc(located.Blocks, func(b *hdfspb.LocatedBlockProto) bool {
		begin, end := b.GetOffset(), b.GetOffset()+b.GetB().GetNumBytes()
		return end <= r.GetOffset() || begin >= r.GetOffset()+r.GetLength()
	})
	return &hdfspb.GetBlockLocationsResponseProto{Locations: located}, nil
}

// locations returns all blocks of a file.
func (f *Fake) locations(n *inode) *hdfspb.LocatedBlocksProto {
	located := &hdfspb.LocatedBlocksProto{
		FileLength: proto.Uint64(n.length()), UnderConstruction: proto.Bool(n.writer != ""), IsLastBlockComplete: proto.Bool(n.writer == ""),
	}
	switch n.kind {
	case plain:
	case encrypted:
		located.FileEncryptionInfo = encryptionInfo()
	case striped:
		located.EcPolicy = policy()
	}
	var offset uint64
	for _, b := range n.blocks {
		located.Blocks = append(located.Blocks, f.located(b, offset))
		offset += uint64(len(b.data))
	}
	return located
}

func (f *Fake) located(b *block, offset uint64) *hdfspb.LocatedBlockProto {
	located := &hdfspb.LocatedBlockProto{
		B: &hdfspb.ExtendedBlockProto{
			PoolId: proto.String(poolID), BlockId: proto.Uint64(b.id), GenerationStamp: proto.Uint64(b.stamp), NumBytes: proto.Uint64(uint64(len(b.data))),
		},
		Offset: proto.Uint64(offset), Corrupt: proto.Bool(false),
		BlockToken: &commonpb.TokenProto{Identifier: []byte{}, Password: []byte{}, Kind: proto.String(""), Service: proto.String("")},
	}
	for _, name := range f.running() {
		located.Locs = append(located.Locs, &hdfspb.DatanodeInfoProto{Id: &hdfspb.DatanodeIDProto{
			IpAddr: proto.String(name), HostName: proto.String(name), DatanodeUuid: proto.String(name),
			XferPort: proto.Uint32(dataNodePort), InfoPort: proto.Uint32(0), IpcPort: proto.Uint32(0),
		}})
	}
	return located
}

func (f *Fake) create(r *hdfspb.CreateRequestProto, user string) (proto.Message, error) {
	at := r.GetSrc()
	if n := f.space.inodes[at]; n != nil {
		return nil, rpctest.Exception(classExists, at+" already exists")
	}
	if err := f.space.parent(at); err != nil {
		return nil, err
	}
	if f.space.inodes[path.Dir(at)].kind == encrypted && len(r.GetCryptoProtocolVersion()) == 0 {
		return nil, rpctest.Exception("org.apache.hadoop.hdfs.UnknownCryptoProtocolVersionException", "No crypto protocol versions provided by the client are supported.")
	}
	n := f.space.make(at, inode{
		perm: r.GetMasked().GetPerm(), owner: user, writer: r.GetClientName(), replication: r.GetReplication(),
	})
	return &hdfspb.CreateResponseProto{Fs: f.status(n, "")}, nil
}

// written returns the file that a client has open for writing.
func (f *Fake) written(at, client string) (*inode, error) {
	n := f.space.inodes[at]
	if n == nil || n.writer == "" || n.writer != client {
		return nil, rpctest.Exception("org.apache.hadoop.hdfs.server.namenode.LeaseExpiredException", "Holder "+client+" does not have any open files: "+at)
	}
	return n, nil
}

// committed checks a client's report of the last block that it has written.
func committed(n *inode, said *hdfspb.ExtendedBlockProto) error {
	if len(n.blocks) == 0 && said == nil {
		return nil
	}
	if len(n.blocks) > 0 {
		if last := n.blocks[len(n.blocks)-1]; last.id == said.GetBlockId() && uint64(len(last.data)) == said.GetNumBytes() {
			return nil
		}
	}
	return rpctest.Exception("java.io.IOException", fmt.Sprintf("Commit block with mismatching size or id: %v", said))
}

func (f *Fake) addBlock(r *hdfspb.AddBlockRequestProto) (proto.Message, error) {
	n, err := f.written(r.GetSrc(), r.GetClientName())
	if err == nil {
		err = committed(n, r.GetPrevious())
	}
	if err != nil {
		return nil, err
	}
	if len(f.running()) == 0 {
		return nil, rpctest.Exception("java.io.IOException", "File "+r.GetSrc()+" could only be written to 0 of the 1 minReplication nodes. There are 0 datanode(s) running and 0 node(s) are excluded in this operation.")
	}
	offset := n.length()
	return &hdfspb.AddBlockResponseProto{Block: f.located(f.space.addBlock(n), offset)}, nil
}

func (f *Fake) updateBlock(r *hdfspb.UpdateBlockForPipelineRequestProto) (proto.Message, error) {
	b := f.space.blocks[r.GetBlock().GetBlockId()]
	if b == nil {
		return nil, rpctest.Exception("java.io.IOException", "no such block")
	}
	return &hdfspb.UpdateBlockForPipelineResponseProto{Block: f.located(b, 0)}, nil
}

// complete closes a file. As long as a block is not reported, nothing is committed, and the client
// must name the last block again.
func (f *Fake) complete(r *hdfspb.CompleteRequestProto) (proto.Message, error) {
	n, err := f.written(r.GetSrc(), r.GetClientName())
	if err != nil {
		return nil, err
	}
	if !f.faults.reported() || len(n.blocks) > 0 && r.GetLast() == nil {
		return &hdfspb.CompleteResponseProto{Result: proto.Bool(false)}, nil
	}
	if err := committed(n, r.GetLast()); err != nil {
		return nil, err
	}
	n.writer, n.modified = "", time.Now()
	return &hdfspb.CompleteResponseProto{Result: proto.Bool(true)}, nil
}
