package kerberos

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// oneNameNodeIsIll uses a nameservice whose first NameNode does not serve, while the second one is active. At first the
// first one is a standby, then its keytab is older than the KDC's keys.
func oneNameNodeIsIll(ctx context.Context, t *testing.T, c *cluster.Cluster) {
	t.Helper()
	keys, err := os.ReadFile(c.Keytab("nn"))
	if err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(t.TempDir(), "old.keytab")
	if err := os.WriteFile(old, keys, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Reconfigure(ctx, "namenode1", map[string]string{"dfs.namenode.keytab.file": old}); err != nil {
		t.Fatal(err)
	}
	secondServes(ctx, t, c, yarnrpc.ErrStandby)
	if err := c.Kadmin(ctx, "ktadd -q -k "+c.Keytab("nn")+" nn/localhost"); err != nil {
		t.Fatal(err)
	}
	secondServes(ctx, t, c, yarnrpc.ErrSASL)
}

// secondServes calls the nameservice with a new ticket: the first NameNode refuses, the second one answers.
func secondServes(ctx context.Context, t *testing.T, c *cluster.Cluster, refusal error) {
	t.Helper()
	conf := rpctest.Conf(t, c).With("the test", map[string]string{"dfs.client.failover.random.order": "false"})
	authority := strings.TrimPrefix(conf.Get("fs.defaultFS"), "hdfs://")
	addresses, _, err := conf.NameNodes(authority)
	if err != nil {
		t.Fatal(err)
	}
	o, err := hdfs.FromConf(conf, authority, "")
	if err != nil {
		t.Fatal(err)
	}
	var asked []string
	var errs []error
	o.RPC.Login, o.Policy = rpctest.FromKeytab(t, c, alice), yarnrpc.Policy{MaxWait: -1}
	o.RPC.Observe = func(try yarnrpc.Try) {
		asked, errs = append(asked, try.Address), append(errs, try.Err)
	}
	d := hdfs.NewDialer(o)
	defer d.Close()
	if _, err := d.NameNode().Defaults(ctx); err != nil {
		t.Errorf("where one has %v: %v", refusal, err)
	}
	if !slices.Equal(asked, addresses) || !errors.Is(errs[0], refusal) {
		t.Errorf("%v were asked, with the errors %v, want %v of the first", asked, errs, refusal)
	}
}
