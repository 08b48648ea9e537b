package cluster

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// TestASecureClusterLetsOnlyTicketsIn would catch a cluster that runs without Kerberos, or with less protection than asked,
// although it was to be secure, and a second realm that the first does not trust.
func TestASecureClusterLetsOnlyTicketsIn(t *testing.T) {
	c := ForTest(t, Config{NodeManagers: 1, Users: []string{"carol", "dora"}, Kerberos: &Kerberos{Protection: "privacy", Partners: []string{"dora"}}})
	ctx := t.Context()
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
	for principal, user := range map[string]string{"carol": "carol", "dora@" + PartnerRealm: "dora"} {
		if err := c.Kinit(ctx, principal, cache); err != nil {
			t.Fatal(err)
		}
		cmd := c.Command(ctx, FsShell, "-touchz", "/user/"+user+"/made")
		cmd.Env = append(cmd.Env, "KRB5CCNAME="+cache)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("with a ticket of %s: %v\n%s", principal, err, out)
		}
		files, err := mustHDFS(t, c).List(ctx, "/user/"+user)
		if err != nil {
			t.Fatal(err)
		}
		if len(files) != 1 || files[0].Owner != user {
			t.Errorf("%s's home has %+v, want one file of that user's", user, files)
		}
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
