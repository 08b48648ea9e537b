package yarn

import (
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	colinmarc "github.com/colinmarc/hdfs/v2"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// The library would write and read plain bytes where HDFS keeps stripes. The file is empty: it
// takes more DataNodes than one to write stripes.
func TestHDFSErasureCodedFilesAreRefused(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	f := newFS(t, dfs.Options{Conf: confOf(t, c), User: me(t)})
	dir := scratch(t, f)
	const admin, policy = "org.apache.hadoop.hdfs.tools.ECAdmin", "XOR-2-1-1024k"
	java(t, c, admin, "-enablePolicy", "-policy", policy)
	java(t, c, admin, "-setPolicy", "-path", dir, "-policy", policy)
	java(t, c, cluster.FsShell, "-touchz", dir+"/file")
	refusedByFS(t, f, dir, filesystem.ErrErasureCoded)
	refusedByLibrary(t, c, dir, hdfs.ErrErasureCoded)
}

// encryptionZone would catch ciphertext that is given for what a file holds, and a file that
// everybody else finds to be garbage.
func encryptionZone(t *testing.T, c *cluster.Cluster) {
	f := newFS(t, dfs.Options{Conf: confOf(t, c), User: me(t)})
	dir, local := scratch(t, f), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(local, noise(1000), 0o600); err != nil {
		t.Fatal(err)
	}
	java(t, c, "org.apache.hadoop.hdfs.tools.CryptoAdmin", "-createZone", "-keyName", "key1", "-path", dir)
	java(t, c, cluster.FsShell, "-put", local, dir)
	refusedByFS(t, f, dir, filesystem.ErrEncryptionZone)
	refusedByLibrary(t, c, dir, hdfs.ErrEncryptionZone)
}

// refusedByFS has Bobbin use a file, and make another, in a directory of a kind that is refused.
func refusedByFS(t *testing.T, f *dfs.FS, dir string, want error) {
	t.Helper()
	if _, err := f.Open(t.Context(), dir+"/file"); !errors.Is(err, want) {
		t.Errorf("open: %v", err)
	}
	if _, err := f.Create(t.Context(), dir+"/new", filesystem.ExistingParents); !errors.Is(err, want) {
		t.Errorf("create: %v", err)
	}
	if _, err := f.Stat(t.Context(), dir+"/new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the refused file is still there: %v", err)
	}
}

// refusedByLibrary is the same for a program that has nothing but the library and yarnrpc.
func refusedByLibrary(t *testing.T, c *cluster.Cluster, dir string, want error) {
	t.Helper()
	u, err := url.Parse(dir)
	if err != nil {
		t.Fatal(err)
	}
	client := newLibrary(t, c, u.Host)
	file, err := client.Open(u.Path + "/file")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if n, err := file.Read(make([]byte, 1000)); n != 0 || !errors.Is(err, want) && file.Stat().Size() > 0 {
		t.Errorf("read: %d bytes, %v", n, err)
	}
	if sum, err := file.Checksum(); sum != nil || !errors.Is(err, want) {
		t.Errorf("checksum: %x, %v", sum, err)
	}
	if _, err := client.Append(u.Path + "/file"); !errors.Is(err, want) {
		t.Errorf("append: %v", err)
	}
	if _, err := client.Create(u.Path + "/new"); !errors.Is(err, want) {
		t.Errorf("create: %v", err)
	}
	if _, err := client.Stat(u.Path + "/new"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the refused file is still there: %v", err)
	}
	if err := client.Rename(u.Path+"/file", u.Path+"/moved"); err != nil { // this is no affair of bytes
		t.Errorf("rename: %v", err)
	}
}

// newLibrary is the HDFS library over yarnrpc's connections.
func newLibrary(t *testing.T, c *cluster.Cluster, authority string) *colinmarc.Client {
	t.Helper()
	o, err := hdfs.FromConf(confOf(t, c), authority, me(t))
	if err != nil {
		t.Fatal(err)
	}
	dialer := hdfs.NewDialer(o)
	client, err := colinmarc.NewClient(colinmarc.ClientOptions{
		Addresses: []string{authority}, User: me(t), NamenodeDialFunc: dialer.DialNameNode, DatanodeDialFunc: dialer.DialDataNode,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(client.Close(), dialer.Close()); err != nil {
			t.Error(err)
		}
	})
	return client
}
