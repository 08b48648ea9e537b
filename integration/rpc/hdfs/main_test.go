// Package hdfs tests the access to files against real NameNodes and DataNodes: what is
// written and read, what is refused, and what becomes of calls and files when
// connections break.
package hdfs

import (
	"fmt"
	"os"
	"testing"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
)

// atOnce is how many tests run beside each other.
const atOnce = 6

func TestMain(m *testing.M) {
	if err := rpctest.AtOnce(atOnce); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(clusters.Main(m))
}

const blockSize = 64 << 10 // bytes

// smallBlocks is the cluster's configuration with blocks so small that small files have many.
func smallBlocks(t *testing.T, c *cluster.Cluster) *hadoopconf.Conf {
	t.Helper()
	return rpctest.Conf(t, c).With("test", map[string]string{"dfs.blocksize": fmt.Sprint(blockSize)})
}

// create writes a file, in folders that may not be there yet.
func create(t *testing.T, f *dfs.FS, uri string, content []byte) {
	t.Helper()
	w, err := f.Create(t.Context(), uri, filesystem.MakeParents)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
