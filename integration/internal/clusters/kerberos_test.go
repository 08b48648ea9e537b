package clusters

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// TestASecureClusterLetsOnlyTicketsIn would catch a cluster that should be secure but has no Kerberos or less
// protection, and a second realm that the first one does not trust.
func TestASecureClusterLetsOnlyTicketsIn(t *testing.T) {
	cluster.Thorough(t)
	c := Use(t, Secure)
	ctx := t.Context()
	for name, address := range map[string]string{"namenode": c.NameNodeAddress(), "resourcemanager": c.RMAddress()} {
		got, err := c.Offers(ctx, address)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(cluster.Offers{Methods: []string{"TOKEN", "KERBEROS"}, QOPs: []sasl.QOP{sasl.QOPPrivacy}}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if out, err := c.CLI(ctx, cluster.FsShell, "-ls", "/"); err == nil || !strings.Contains(err.Error(), "Client cannot authenticate") {
		t.Errorf("without a ticket Hadoop's own client gets %q, %v", out, err)
	}
	cache := filepath.Join(t.TempDir(), "cache")
	for principal, user := range map[string]string{Careless: Careless, "dora@" + cluster.PartnerRealm: "dora"} {
		if err := c.Kinit(ctx, principal, cache); err != nil {
			t.Fatal(err)
		}
		made := "made-" + strconv.Itoa(os.Getpid())
		cmd := c.Command(ctx, cluster.FsShell, "-touchz", "/user/"+user+"/"+made)
		cmd.Env = append(cmd.Env, "KRB5CCNAME="+cache)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("with a ticket of %s: %v\n%s", principal, err, out)
		}
		hdfs, err := c.HDFS()
		if err != nil {
			t.Fatal(err)
		}
		files, err := hdfs.List(ctx, "/user/"+user)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(files, func(f cluster.FileStatus) bool { return f.Name == made && f.Owner == user }) {
			t.Errorf("%s's home has %+v, want %s of that user's", user, files, made)
		}
	}
}
