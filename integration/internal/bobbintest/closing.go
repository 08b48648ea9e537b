package bobbintest

import (
	"io"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// Closing has what it is given closed when the test ends, and gives it back. It fails
// the test if that fails.
func Closing[C io.Closer](t testing.TB, c C) C {
	t.Helper()
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// NameNode makes calls of a cluster's NameNode, or of the first of its pair, over a
// connection that ends with the test.
func NameNode(t testing.TB, c *cluster.Cluster, o yarnrpc.Options) *hdfs.NameNode {
	t.Helper()
	conn, err := yarnrpc.Dial(t.Context(), c.NameNodeAddress(), o)
	if err != nil {
		t.Fatal(err)
	}
	return hdfs.NewNameNode(Closing(t, conn))
}
