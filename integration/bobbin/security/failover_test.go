package security

import (
	"errors"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// TestAJobOutlivesTheActiveServers kills the active ResourceManager and then the active NameNode.
// It would catch tokens that only the first of a pair is shown, and a job
// that gets no new containers, or none that read HDFS, from the second.
func TestAJobOutlivesTheActiveServers(t *testing.T) {
	cluster.Long(t)
	t.Parallel()
	c := clusters.Own(t, cluster.Config{HA: true, NameNodeHA: true, Kerberos: &cluster.Kerberos{Protection: "privacy"}})
	alice := suite.UserOf(t, c, bobbintest.Alice)
	d := suite.Trickle(t, alice, 20*time.Minute, "-s", "1")

	first, err := c.ActiveRM(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	wait.For(t, "the other ResourceManager is active", func() (bool, error) {
		second, err := c.ActiveRM(t.Context())
		return err == nil && second != first, nil // none is, for a while
	})
	d.First(t, bobbintest.TaskExecutor).Kill(t)
	d.AwaitRestart(t)

	if err := errors.Join(c.Kill(t.Context(), "namenode1"), c.Activate(t.Context(), "namenode2")); err != nil {
		t.Fatal(err)
	}
	d.First(t, bobbintest.TaskExecutor).Kill(t)
	d.AwaitRestart(t)
	watch(t, d, time.Now().Add(30*time.Second))
	d.CheckSucceeds(t)
}
