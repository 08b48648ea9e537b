package security

import (
	"errors"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// TestAJobOutlivesTheActiveServers kills the active ResourceManager and then the active NameNode. It would catch tokens
// that only the first server of a pair accepts, and a job that gets no new containers from the second one, or
// containers that cannot read HDFS. Before that, the test checks the error for servers without principals, because the
// cluster is its own.
func TestAJobOutlivesTheActiveServers(t *testing.T) {
	cluster.Long(t)
	c := clusters.Change(t, clusters.SecurePair, "kills the active ResourceManager and the active NameNode, and hides principals")
	alice := suite.UserOf(t, c, bobbintest.Alice)
	d := suite.Dawdle(t, alice, "-p", "2", "-s", "1")
	checkLogsWithoutPrincipals(t, d)

	first := rpctest.ActiveRM(t, c)
	if err := c.Kill(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the other ResourceManager is active", func() (bool, error) {
		second, err := c.ActiveRM(t.Context())
		return err == nil && second != first, nil // none is active for a while
	})
	d.First(t, bobbintest.TaskExecutor).Kill(t)
	d.AwaitRestart(t)

	if err := errors.Join(c.Kill(t.Context(), "namenode1"), c.Activate(t.Context(), "namenode2")); err != nil {
		t.Fatal(err)
	}
	d.First(t, bobbintest.TaskExecutor).Kill(t)
	d.AwaitRestart(t)
	d.CheckSucceeds(t)
}
