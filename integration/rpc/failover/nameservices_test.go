package failover

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// withOther returns a configuration with a second file system, as the nameservice "other" with one
// NameNode.
func withOther(conf *hadoopconf.Conf, other *cluster.Cluster) *hadoopconf.Conf {
	return conf.With("test", map[string]string{
		"dfs.nameservices": conf.Get("dfs.nameservices") + ",other", "dfs.namenode.rpc-address.other": other.NameNodeAddress(),
	})
}

// twoFileSystems uses the same path in two file systems through one FS. It would catch calls and
// blocks of one that go to the other.
func twoFileSystems(ctx context.Context, t *testing.T, f *dfs.FS, dir string, other *cluster.Cluster) {
	t.Helper()
	place, err := url.Parse(dir)
	if err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/user/%s/%s", rpctest.Me(t), strings.ReplaceAll(place.Path[1:], "/", "-"))
	here, there := dir+"/in-two-places", "hdfs://other"+path
	t.Cleanup(func() {
		if err := f.RemoveAll(wait.Context(t), there); err != nil {
			t.Error(err)
		}
	})
	content := map[string][]byte{here: rpctest.Noise(3*blockSize + 1), there: rpctest.Noise(4*blockSize + 2)}
	for uri, b := range content {
		if err := f.WriteFile(ctx, uri, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for uri, want := range content {
		if got, err := f.ReadFile(ctx, uri, int64(len(want))); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes differ from the %d written: %v", uri, len(got), len(want), err)
		}
	}
	h := rpctest.HDFS(t, other)
	if found, err := h.List(ctx, path); err != nil || len(found) != 1 || found[0].Length != int64(len(content[there])) {
		t.Errorf("the other file system has %+v, %v", found, err)
	}

	// From one to the other, with both open.
	from, err := f.Open(ctx, here)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	if err := f.RemoveAll(ctx, there); err != nil {
		t.Error(err)
	}
	to, err := f.Create(ctx, there, filesystem.ExistingParents)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(to, from); err != nil {
		t.Error(err)
	}
	if err := to.Close(); err != nil {
		t.Error(err)
	}
	if got, err := f.ReadFile(ctx, there, int64(len(content[here]))); err != nil || !bytes.Equal(got, content[here]) {
		t.Errorf("the copy has %d other bytes: %v", len(got), err)
	}
}
