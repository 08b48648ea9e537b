package hdfs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	colinmarc "github.com/colinmarc/hdfs/v2"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/testing/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
	"github.com/bobbin-yarn/bobbin/yarnrpc/wire"
)

// library is a client of colinmarc/hdfs over a Dialer.
func library(t *testing.T, o DialerOptions) *colinmarc.Client {
	t.Helper()
	d := NewDialer(o)
	client, err := colinmarc.NewClient(colinmarc.ClientOptions{
		Addresses: []string{"nameservice"}, User: "me",
		NamenodeDialFunc: d.DialNameNode, DatanodeDialFunc: d.DialDataNode,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(client.Close(), d.Close()); err != nil {
			t.Error(err)
		}
	})
	return client
}

// namespace is a NameNode that has the file /here, and accepts every other name as new.
func namespace(call *rpctest.Call) (proto.Message, error) {
	if call.Call.Protocol != yarnrpc.HDFSClientProtocol {
		return nil, rpctest.NoSuchProtocol(call)
	}
	switch call.Call.Method {
	case "getFileInfo":
		var request hdfspb.GetFileInfoRequestProto
		if err := call.Decode(&request); err != nil || request.GetSrc() != "/here" {
			return new(hdfspb.GetFileInfoResponseProto), err
		}
		return &hdfspb.GetFileInfoResponseProto{Fs: someFile(call.User, 7)}, nil
	case "rename2":
		return nil, rpctest.Exception("org.apache.hadoop.security.AccessControlException", "Permission denied\n\tat NameNode")
	default:
		return nil, rpctest.NoSuchMethod(call)
	}
}

// someFile is a NameNode's description of a file.
func someFile(owner string, length int) *hdfspb.HdfsFileStatusProto {
	return &hdfspb.HdfsFileStatusProto{
		FileType: hdfspb.HdfsFileStatusProto_IS_FILE.Enum(), Path: []byte{}, Length: proto.Uint64(uint64(length)), FileId: proto.Uint64(1),
		Permission: &hdfspb.FsPermissionProto{Perm: proto.Uint32(0o644)}, Owner: proto.String(owner), Group: proto.String("staff"),
		ModificationTime: proto.Uint64(1), AccessTime: proto.Uint64(1),
	}
}

func TestTheLibrarysCallsGoThroughTheDialer(t *testing.T) {
	t.Parallel()
	token := &creds.Token{Identifier: []byte("alice"), Password: []byte("secret"), Kind: creds.KindHDFSDelegation}
	passwords := func([]byte) ([]byte, error) { return []byte("secret"), nil }
	for name, tc := range map[string]struct {
		server *rpctest.Server
		rpc    yarnrpc.Options
		owner  string
	}{
		"an open cluster": {
			server: &rpctest.Server{Handler: namespace}, rpc: yarnrpc.Options{Auth: yarnrpc.Auth{User: yarnrpc.UserInformation{Effective: "bob"}}}, owner: "bob",
		},
		"a token": {
			server: &rpctest.Server{Handler: namespace, Passwords: passwords}, rpc: yarnrpc.Options{Auth: yarnrpc.Auth{Token: creds.Fixed(token)}}, owner: "alice",
		},
		"a token, with privacy": {
			server: &rpctest.Server{Handler: namespace, Passwords: passwords, QOPs: []sasl.QOP{sasl.QOPPrivacy}},
			rpc:    yarnrpc.Options{Auth: yarnrpc.Auth{Token: creds.Fixed(token), QOPs: []sasl.QOP{sasl.QOPPrivacy}}}, owner: "alice",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := library(t, DialerOptions{Addresses: []string{tc.server.Listen(t)}, RPC: tc.rpc})
			info, err := client.Stat("/here")
			if err != nil {
				t.Fatal(err)
			}
			if status, is := info.(*colinmarc.FileInfo); !is || status.Owner() != tc.owner || info.Size() != 7 {
				t.Errorf("the file is %+v, want one of %s", info, tc.owner)
			}
			if _, err := client.Stat("/there"); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("stat of what is not there: %v", err)
			}
			if err := client.Rename("/there", "/nowhere"); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("rename without the right: %v", err)
			}
			if _, err := client.Stat("/here"); err != nil { // exceptions end no connection
				t.Error(err)
			}
			if logins := tc.server.Logins(); logins != 1 {
				t.Errorf("%d connections were made", logins)
			}
		})
	}
}

// The library would avoid a NameNode for five seconds after each failure, and give up a file
// that is being written.
func TestFailOversDoNotShow(t *testing.T) {
	t.Parallel()
	var active atomic.Int32
	addresses := make([]string, 2)
	for i := range addresses {
		server := &rpctest.Server{}
		server.Handler = func(call *rpctest.Call) (proto.Message, error) {
			if active.Load() != int32(i) {
				return nil, rpctest.Exception("org.apache.hadoop.ipc.StandbyException", "Operation category READ is not supported in state standby")
			}
			return namespace(call)
		}
		addresses[i] = server.Listen(t)
	}
	client := library(t, DialerOptions{
		Addresses: addresses, RPC: yarnrpc.Options{Auth: yarnrpc.Auth{User: yarnrpc.UserInformation{Effective: "me"}}},
		Policy: yarnrpc.Policy{MaxWait: time.Minute, BaseDelay: time.Millisecond},
	})
	for range 10 {
		if _, err := client.Stat("/here"); err != nil {
			t.Fatal(err)
		}
		active.Store(1 - active.Load())
	}
}

// The library would avoid the NameNode for five seconds, active or not, and forget its
// leases.
func TestAStandbyEndsNoConnection(t *testing.T) {
	t.Parallel()
	var active atomic.Bool
	server := &rpctest.Server{Handler: func(call *rpctest.Call) (proto.Message, error) {
		if !active.Load() {
			return nil, rpctest.Exception("org.apache.hadoop.ipc.StandbyException", "Operation category READ is not supported in state standby")
		}
		return namespace(call)
	}}
	client := library(t, DialerOptions{Addresses: []string{server.Listen(t)}, RPC: yarnrpc.Options{Auth: yarnrpc.Auth{User: yarnrpc.UserInformation{Effective: "me"}}}})
	if _, err := client.Stat("/here"); !errors.Is(err, yarnrpc.ErrStandby) {
		t.Errorf("error is %v, want ErrStandby", err)
	}
	active.Store(true)
	if _, err := client.Stat("/here"); err != nil {
		t.Error(err)
	}
}

// The library would hide the error, because it passes on only its text.
func TestErrorsSayWhyThereIsNoAnswer(t *testing.T) {
	t.Parallel()
	away := library(t, DialerOptions{Addresses: []string{"nn:8020"}, RPC: dialledBy(func(context.Context, string, string) (net.Conn, error) {
		return nil, fs.ErrInvalid
	})})
	_, err := away.Stat("/here")
	if call, is := errors.AsType[*yarnrpc.CallError](err); !is || !errors.Is(err, fs.ErrInvalid) || call.Address != "nn:8020" {
		t.Errorf("of a NameNode that cannot be reached: %v", err)
	}
	server := &rpctest.Server{Handler: namespace, Passwords: func([]byte) ([]byte, error) {
		return nil, errors.New("token can't be found in cache")
	}}
	token := &creds.Token{Identifier: []byte("alice"), Password: []byte("secret")}
	refused := library(t, DialerOptions{Addresses: []string{server.Listen(t)}, RPC: yarnrpc.Options{Auth: yarnrpc.Auth{Token: creds.Fixed(token)}}})
	if _, err := refused.Stat("/here"); err == nil || !strings.Contains(err.Error(), "found in cache") {
		t.Errorf("of a token that is refused: %v", err)
	}
}

// counting counts the calls of each method, and answers without content.
type counting map[string]int

func (c counting) Call(_ context.Context, method string, _, _ proto.Message) error {
	c[method]++
	return nil
}

// callOver makes a call over a connection as the library does.
func callOver(t *testing.T, conn net.Conn, method string) (*wire.Failure, error) {
	t.Helper()
	return callWith(t, conn, method, new(hdfspb.Rename2ResponseProto))
}

func callWith(t *testing.T, conn net.Conn, method string, request proto.Message) (*wire.Failure, error) {
	t.Helper()
	frame, err := wire.AppendCall(nil, wire.Call{ID: 7, ClientID: []byte("client"), Method: method}, request)
	if err != nil {
		t.Fatal(err)
	}
	for len(frame) > 0 { // in pieces, although the library writes whole frames
		n := min(5, len(frame))
		if _, err := conn.Write(frame[:n]); err != nil {
			return nil, err
		}
		frame = frame[n:]
	}
	answer, err := wire.ReadFrame(conn, wire.MaxFrame)
	if err != nil {
		return nil, err
	}
	response, err := wire.ParseResponse(answer)
	if err == nil && (response.CallID != 7 || string(response.ClientID) != "client") {
		t.Errorf("the answer is to call %d of %q", response.CallID, response.ClientID)
	}
	return response.Failure, err
}

// opened returns a connection that the library has opened.
func opened(t *testing.T, rpc yarnrpc.Caller) *callConn {
	t.Helper()
	c := newCallConn(t.Context(), rpc, newDataNodes(false), "nn")
	opening, err := wire.AppendContext(wire.AppendPreamble(nil, wire.AuthNone), wire.Context{ClientID: []byte("client"), User: "me"})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range opening {
		if _, err := c.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// Ten thousand reading processes would make ten thousand useless calls a second.
func TestLeasesAreRenewedByThoseWhoWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := make(counting)
		c := opened(t, calls)
		renewForAMinute := func() {
			ticker := time.NewTicker(time.Second)
			defer ticker.Stop()
			for range 60 {
				<-ticker.C
				if _, err := callOver(t, c, "renewLease"); err != nil {
					t.Fatal(err)
				}
			}
		}
		renewForAMinute()
		if n := calls["renewLease"]; n != 0 {
			t.Errorf("a reader renewed %d times", n)
		}
		if _, err := callOver(t, c, "create"); err != nil {
			t.Fatal(err)
		}
		renewForAMinute()
		if n := calls["renewLease"]; n != 3 {
			t.Errorf("a writer renewed %d times in a minute, want 3", n)
		}
	})
}

// refusing answers a number of calls with an exception.
type refusing struct {
	times int
	calls counting
	class string
}

func (r refusing) Call(_ context.Context, method string, _, response proto.Message) error {
	if r.calls[method]++; r.calls[method] <= r.times {
		return &yarnrpc.RemoteError{Method: method, Class: r.class}
	}
	if added, is := response.(*hdfspb.AddBlockResponseProto); is {
		added.Block = located(0, 1, false, "node1")
	}
	return nil
}

// The library would end a file when a DataNode has not reported its last block in time.
func TestANextBlockIsAskedForAgain(t *testing.T) {
	t.Parallel()
	const notYet = "org.apache.hadoop.hdfs.server.namenode.NotReplicatedYetException"
	for name, tc := range map[string]struct {
		rpc    refusing
		method string
		calls  int
		took   time.Duration
		fails  bool
	}{
		"while the last one is not there": {refusing{3, counting{}, notYet}, "addBlock", 4, 2800 * time.Millisecond, false},
		"for twelve seconds":              {refusing{9, counting{}, notYet}, "addBlock", 6, 12400 * time.Millisecond, true},
		"not after another exception":     {refusing{3, counting{}, "java.io.IOException"}, "addBlock", 1, 0, true},
		"nor by another call":             {refusing{3, counting{}, notYet}, "updateBlockForPipeline", 1, 0, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			failure, err := callWith(t, opened(t, tc.rpc), tc.method, &hdfspb.AddBlockRequestProto{Src: proto.String("/file"), ClientName: proto.String("client")})
			if took := time.Since(began); err != nil || (failure != nil) != tc.fails || tc.rpc.calls[tc.method] != tc.calls || took != tc.took {
				t.Errorf("%s: %v, %v after %d calls in %v", name, failure, err, tc.rpc.calls[tc.method], took)
			}
		})
	}
}

// In a small cluster, the library would write each block to the same dead DataNode, for the ten minutes until the NameNode
// gives that up. The test would also catch a client that can write nothing after its only DataNode was away.
func TestABlockIsNotPlacedOnADataNodeThatHasFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var excluded [][]string // of each call
		alone, early := false, 0
		c := opened(t, callerFunc(func(_ string, request, response proto.Message) error {
			var names []string
			for _, n := range request.(*hdfspb.AddBlockRequestProto).GetExcludeNodes() {
				names = append(names, n.GetId().GetHostName())
			}
			excluded = append(excluded, names)
			if early > 0 {
				early--
				return &yarnrpc.RemoteError{Class: "org.apache.hadoop.hdfs.server.namenode.NotReplicatedYetException"}
			}
			if alone && len(names) > 0 {
				return &yarnrpc.RemoteError{Class: "java.io.IOException", Message: "could only be written to 0 of the 1 minReplication nodes"}
			}
			response.(*hdfspb.AddBlockResponseProto).Block = located(0, 1, false, "node1", "node2")
			return nil
		}))
		add := func(want ...[]string) {
			t.Helper()
			request := &hdfspb.AddBlockRequestProto{Src: proto.String("/file"), ClientName: proto.String("client")}
			failure, err := callWith(t, c, "addBlock", request)
			if diff := cmp.Diff(want, excluded); failure != nil || err != nil || diff != "" {
				t.Errorf("%v, %v; excluded (-want +got):\n%s", failure, err, diff)
			}
			excluded = nil
		}
		add(nil)
		c.nodes.note("10.0.0.2:1", true) // the client does not know what it is
		add(nil)
		c.nodes.note("10.0.0.1:1", true)
		add([]string{"node1"})
		early = 1 // it asks for the next block
		add([]string{"node1"}, []string{"node1"})
		alone, early = true, 1
		add([]string{"node1"}, []string{"node1"}, nil)
		time.Sleep(failureMemory)
		add(nil)
		c.nodes.note("10.0.0.1:1", true)
		c.nodes.note("10.0.0.1:1", false)
		add(nil)
	})
}

// The library names the last block once. If DataNodes have not reported the block before, the
// NameNode has not committed the last one, and later calls would never complete the file.
func TestTheLastBlockIsNamedUntilTheFileIsComplete(t *testing.T) {
	t.Parallel()
	const done = 3 // call of each file that completes it
	named := make(map[uint64][]uint64)
	c := opened(t, callerFunc(func(_ string, request, response proto.Message) error {
		asked := request.(*hdfspb.CompleteRequestProto)
		file := asked.GetFileId()
		named[file] = append(named[file], asked.GetLast().GetBlockId())
		if len(named[file]) == done-1 {
			return &yarnrpc.RemoteError{Class: "org.apache.hadoop.ipc.RetriableException"}
		}
		response.(*hdfspb.CompleteResponseProto).Result = proto.Bool(len(named[file]) == done)
		return nil
	}))
	for call := range done + 1 {
		for file := range uint64(2) { // the first one is empty
			request := &hdfspb.CompleteRequestProto{Src: proto.String("/file"), ClientName: proto.String("client"), FileId: &file}
			if call == 0 && file > 0 {
				request.Last = &hdfspb.ExtendedBlockProto{PoolId: proto.String("BP-1"), BlockId: proto.Uint64(7), GenerationStamp: proto.Uint64(1)}
			}
			if _, err := callWith(t, c, "complete", request); err != nil {
				t.Fatal(err)
			}
		}
	}
	if diff := cmp.Diff(map[uint64][]uint64{0: {0, 0, 0, 0}, 1: {7, 7, 7, 0}}, named); diff != "" {
		t.Errorf("last blocks (-want +got):\n%s", diff)
	}
}

// silent does not answer until its caller leaves.
type silent struct{}

func (silent) Call(ctx context.Context, _ string, _, _ proto.Message) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

func TestCallsEndWithTheirConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := opened(t, silent{})
		time.AfterFunc(time.Second, func() { c.Close() })
		if _, err := callOver(t, c, "getFileInfo"); !errors.Is(err, net.ErrClosed) {
			t.Errorf("error is %v", err)
		}
		if _, err := c.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a write after that: %v", err)
		}
	})
}

func TestWhatNoLibraryWritesIsAnError(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]string{
		"another protocol":    "GET / HTTP/1.1\r\n",
		"a frame too long":    "hrpc\x09\x00\x00\xff\xff\xff\xff",
		"a frame of nonsense": "hrpc\x09\x00\x00\x00\x00\x00\x02\xff\xff",
	} {
		if _, err := newCallConn(t.Context(), silent{}, newDataNodes(false), "nn").Write([]byte(b)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if _, err := opened(t, silent{}).Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("an answer to nothing: %v", err)
	}
}
