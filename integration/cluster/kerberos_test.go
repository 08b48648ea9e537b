package cluster

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// TestASecureClusterLetsOnlyTicketsIn would catch a cluster that runs without Kerberos, or with less protection than asked,
// although it was to be secure.
func TestASecureClusterLetsOnlyTicketsIn(t *testing.T) {
	c := ForTest(t, Config{NodeManagers: 1, Users: []string{"carol"}, Kerberos: &Kerberos{Protection: "privacy"}})
	ctx, cancel := context.WithTimeout(t.Context(), testLimit)
	defer cancel()
	for name, address := range map[string]string{"namenode": c.NameNodeAddress(), "resourcemanager": c.RMAddress()} {
		got, err := c.Offers(ctx, address)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(Offers{Methods: []string{"TOKEN", "KERBEROS"}, QOPs: []sasl.QOP{sasl.QOPPrivacy}}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if out, err := c.CLI(ctx, FsShell, "-ls", "/"); err == nil || !strings.Contains(err.Error(), "Client cannot authenticate") {
		t.Errorf("without a ticket Hadoop's own client gets %q, %v", out, err)
	}
	cache := filepath.Join(t.TempDir(), "cache")
	if err := c.Kinit(ctx, "carol", cache); err != nil {
		t.Fatal(err)
	}
	cmd := c.Command(ctx, FsShell, "-touchz", "/user/carol/made")
	cmd.Env = append(cmd.Env, "KRB5CCNAME="+cache)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("with a ticket: %v\n%s", err, out)
	}
	files, err := mustHDFS(t, c).List(ctx, "/user/carol")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 1 || files[0].Owner != "carol" {
		t.Errorf("carol's home has %+v, want one file of hers", files)
	}

	if err := c.Kill(ctx, "kdc"); err != nil {
		t.Fatal(err)
	}
	if err := c.Kinit(ctx, "carol", cache); err == nil {
		t.Error("a ticket came from a kdc that was killed")
	}
	if err := c.Restart(ctx, "kdc"); err != nil {
		t.Fatal(err)
	}
	if err := c.Kinit(ctx, "carol", cache); err != nil {
		t.Errorf("after the kdc's restart: %v", err)
	}
}

func mustHDFS(t *testing.T, c *Cluster) HDFS {
	t.Helper()
	h, err := c.HDFS()
	if err != nil {
		t.Fatal(err)
	}
	return h
}
