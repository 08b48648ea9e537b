package rpctest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	colinmarc "github.com/colinmarc/hdfs/v2"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// FS opens a file system, and closes it at the end of the test.
func FS(t testing.TB, o dfs.Options) *dfs.FS {
	t.Helper()
	return Closing(t, dfs.New(o))
}

// Scan returns the entries of a scan of a directory or a file.
func Scan(t testing.TB, f *dfs.FS, uri string) []filesystem.Entry {
	t.Helper()
	var entries []filesystem.Entry
	err := f.Scan(t.Context(), uri, func(part []filesystem.Entry) error {
		entries = append(entries, part...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// FSOptions returns the options of a user of the cluster's HDFS, with the user's login.
func FSOptions(t testing.TB, c *cluster.Cluster, user string) dfs.Options {
	t.Helper()
	return dfs.Options{Conf: Conf(t, c), User: user, Login: Login(t, c, user)}
}

// NameNodeOptions returns the options that a user's program reads from the cluster's configuration for calls to the
// NameNode, with the user's login.
func NameNodeOptions(t testing.TB, c *cluster.Cluster, user string) yarnrpc.Options {
	t.Helper()
	conf := Conf(t, c)
	o, err := yarnrpc.OptionsFrom(conf)
	if err != nil {
		t.Fatal(err)
	}
	o.Protocol, o.User.Effective, o.Login = yarnrpc.HDFSClientProtocol, user, Login(t, c, user)
	o.Server = yarnrpc.ServerFrom(conf, o.Protocol)
	return o
}

// NameNode makes calls to a cluster's NameNode, or to the first of two. It closes its connection at the end of the
// test.
func NameNode(t testing.TB, c *cluster.Cluster, o yarnrpc.Options) *hdfs.NameNode {
	t.Helper()
	conn, err := yarnrpc.Dial(t.Context(), c.NameNodeAddress(), o)
	if err != nil {
		t.Fatal(err)
	}
	return hdfs.NewNameNode(Closing(t, conn))
}

// HDFS asks the NameNode about a cluster's files by WebHDFS, as the superuser. It is independent of the code under
// test.
func HDFS(t testing.TB, c *cluster.Cluster) cluster.HDFS {
	t.Helper()
	h, err := c.HDFS()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Library returns the HDFS library for a user of a NameNode, over the connections of a Dialer. It closes the library at
// the end of the test.
func Library(t testing.TB, d *hdfs.Dialer, nameNode, user string) *colinmarc.Client {
	t.Helper()
	client, err := colinmarc.NewClient(colinmarc.ClientOptions{
		Addresses: []string{nameNode}, User: user, NamenodeDialFunc: d.DialNameNode, DatanodeDialFunc: d.DialDataNode,
	})
	if err != nil {
		t.Fatal(err)
	}
	return Closing(t, client)
}

// Scratch makes a directory on HDFS in which all users may write. It stays, so that you can examine it after a failure.
func Scratch(t testing.TB, f *dfs.FS) string {
	t.Helper()
	dir, err := f.Qualify(fmt.Sprintf("/tmp/bobbin-test-%d-%d", os.Getpid(), time.Now().UnixNano()))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.MkdirAllMode(t.Context(), dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Noise returns content in which every place is different. Contents of different lengths differ too.
func Noise(n int) []byte {
	var seed [32]byte
	binary.LittleEndian.PutUint64(seed[:], uint64(n))
	b := make([]byte, n)
	_, _ = rand.NewChaCha8(seed).Read(b) // it returns no errors
	return b
}
