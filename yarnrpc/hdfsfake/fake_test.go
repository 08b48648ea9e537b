package hdfsfake

import (
	"bytes"
	"errors"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/hadoopproto/hdfspb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// caller is a client of the fake's NameNodes, for one try.
func caller(t *testing.T, f *Fake, user string) *yarnrpc.Proxy {
	t.Helper()
	o, err := hdfs.FromConf(f.Conf(), f.Authority(), user)
	if err != nil {
		t.Fatal(err)
	}
	o.RPC.Dial, o.RPC.Protocol = f.Dial, yarnrpc.HDFSClientProtocol
	proxy := yarnrpc.NewProxy(o.Addresses, o.RPC, yarnrpc.Policy{})
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	})
	return proxy
}

// It would catch a fake in which a test finds something that it did not create, because
// the fake accepts an address or a method that no cluster has.
func TestWhatIsNotThereIsRefused(t *testing.T) {
	t.Parallel()
	f := Start(Config{})
	t.Cleanup(f.Stop)
	if _, err := f.Dial(t.Context(), "tcp", "127.0.0.9:8020"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial of an unknown address: %v", err)
	}
	f.StopDataNode(0)
	if _, err := f.Dial(t.Context(), "tcp", dataNodeAddress(f.DataNodes()[0])); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dial of a DataNode that is away: %v", err)
	}
	err := caller(t, f, "alice").Call(t.Context(), "setQuota", new(hdfspb.GetServerDefaultsRequestProto), new(hdfspb.GetServerDefaultsResponseProto))
	if !errors.Is(err, yarnrpc.ErrNoSuchMethod) {
		t.Errorf("an unknown method: %v", err)
	}
	if content, complete := f.ReadFile("/none"); content != nil || complete {
		t.Errorf("an unknown file has %q", content)
	}
}

// If a standby answered, tests of fail-overs would pass without a fail-over.
func TestTheActiveNameNodeAloneAnswers(t *testing.T) {
	t.Parallel()
	f := Start(Config{NameNodes: 2})
	t.Cleanup(f.Stop)
	f.WriteFile("/dir/file", []byte("x"))
	for _, active := range []int{0, 1} {
		f.Activate(active)
		for number, n := range f.nameNodes {
			o := yarnrpc.Options{Dial: f.Dial, Protocol: yarnrpc.HDFSClientProtocol}
			o.User.Effective = "alice"
			proxy := yarnrpc.NewProxy([]string{n.address}, o, yarnrpc.Policy{})
			_, err := hdfs.NewNameNode(proxy).Locate(t.Context(), "/dir/file", 0, 1)
			if (err == nil) != (number == active) || err != nil && !errors.Is(err, yarnrpc.ErrStandby) {
				t.Errorf("NameNode %d, while %d is active: %v", number, active, err)
			}
			if err := proxy.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A file that is written again must look changed. Otherwise tests of changes see none.
func TestAFileThatIsWrittenAgainIsANewOne(t *testing.T) {
	t.Parallel()
	f := Start(Config{BlockSize: 512})
	t.Cleanup(f.Stop)
	f.WriteFile("/a/b/file", make([]byte, 1000))
	before := *f.space.inodes["/a/b/file"]
	f.WriteFile("/a/b/file", bytes.Repeat([]byte("y"), 1000))
	after := f.space.inodes["/a/b/file"]
	if after.modified.UnixMilli() <= before.modified.UnixMilli() || len(after.blocks) != 2 || after.blocks[0].id == before.blocks[0].id {
		t.Errorf("it was %+v, and is %+v", before, after)
	}
	if got := len(f.Paths()); got != 3 {
		t.Errorf("there are %d paths", got)
	}
}
