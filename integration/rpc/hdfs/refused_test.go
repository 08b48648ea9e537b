package hdfs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"testing"

	colinmarc "github.com/colinmarc/hdfs/v2"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// TestErasureCodedFilesAreRefused would catch plain bytes that are written and read where HDFS keeps stripes. The file
// is empty, because stripes need more than one DataNode.
func TestErasureCodedFilesAreRefused(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	f := rpctest.FS(t, dfs.Options{Conf: rpctest.Conf(t, c), User: rpctest.Me(t)})
	dir := rpctest.Scratch(t, f)
	u, err := url.Parse(dir)
	if err != nil {
		t.Fatal(err)
	}
	const policy = "XOR-2-1-1024k"
	put(t, c, "/", "ENABLEECPOLICY", url.Values{"ecpolicy": {policy}})
	put(t, c, u.Path, "SETECPOLICY", url.Values{"ecpolicy": {policy}})
	put(t, c, u.Path+"/file", "CREATE", nil)
	refusedByFS(t, f, dir, filesystem.ErrErasureCoded)
	refusedByLibrary(t, c, dir, hdfs.ErrErasureCoded)
}

// put makes a WebHDFS call as the superuser. Our own client does not have this call.
func put(t *testing.T, c *cluster.Cluster, path, op string, query url.Values) {
	t.Helper()
	all := url.Values{"op": {op}, "user.name": {rpctest.Me(t)}}
	maps.Copy(all, query)
	address := "http://" + c.NameNodeWebAddress() + "/webhdfs/v1" + path + "?" + all.Encode()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort("127.0.0.1", port)) // DataNodes have other names
		},
	}}
	answer, err := web.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode/100 != 2 {
		t.Fatalf("%s: %s: %s, %v", op, answer.Status, text, err)
	}
}

// TestFilesOfAnEncryptionZoneAreRefused would catch ciphertext that is returned as a file's content, and a written file
// that other clients cannot decrypt.
func TestFilesOfAnEncryptionZoneAreRefused(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Victim)
	f := rpctest.FS(t, dfs.Options{Conf: rpctest.Conf(t, c), User: rpctest.Me(t)})
	zone := "hdfs://" + c.NameNodeAddress() + cluster.Zone
	refusedByFS(t, f, zone, filesystem.ErrEncryptionZone)
	refusedByLibrary(t, c, zone, hdfs.ErrEncryptionZone)
}

// refusedByFS makes Bobbin's FS use a file, and create another one, in a directory that must be refused.
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

// refusedByLibrary is the same for a program with only the library and yarnrpc.
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
	for _, names := range [][2]string{{"/file", "/moved"}, {"/moved", "/file"}} {
		if err := client.Rename(u.Path+names[0], u.Path+names[1]); err != nil { // this needs no data
			t.Errorf("rename: %v", err)
		}
	}
}

// newLibrary makes the HDFS library with yarnrpc's connections.
func newLibrary(t *testing.T, c *cluster.Cluster, authority string) *colinmarc.Client {
	t.Helper()
	o, err := hdfs.FromConf(rpctest.Conf(t, c), authority, rpctest.Me(t))
	if err != nil {
		t.Fatal(err)
	}
	return rpctest.Library(t, rpctest.Closing(t, hdfs.NewDialer(o)), authority, rpctest.Me(t))
}
