// Package hdfs tests the access to files against real NameNodes and DataNodes: written and read
// data, refusals, and the effect of broken connections on calls and files.
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

// atOnce is the number of parallel tests.
const atOnce = 6

func TestMain(m *testing.M) {
	if err := rpctest.AtOnce(atOnce); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(clusters.Main(m))
}

const blockSize = 64 << 10 // bytes

// smallBlocks is the cluster's configuration with very small blocks, so that small files have many.
func smallBlocks(t *testing.T, c *cluster.Cluster) *hadoopconf.Conf {
	t.Helper()
	return rpctest.Conf(t, c).With("test", map[string]string{"dfs.blocksize": fmt.Sprint(blockSize)})
}

// create writes a file, and creates its missing parents.
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
