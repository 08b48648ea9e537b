package secure

import (
	"net"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
)

// TestTokensGoBetweenJavaAndUs would catch tokens that one side files under a name by which the
// other does not look for them.
func TestTokensGoBetweenJavaAndUs(t *testing.T) {
	tokensGoBetweenJavaAndUs(t, hadoop.Cluster(t))
}

// tokensGoBetweenJavaAndUs has each side log in with what the other has got, under the
// cluster's hadoop.security.token.service.use_ip.
func tokensGoBetweenJavaAndUs(t *testing.T, c *cluster.Cluster) {
	login, service := fromKeytab(t, c, alice), nameNodeService(t, c)
	t.Run("java takes ours", func(t *testing.T) {
		rm, err := newClient(t, options(t, c, login)).DelegationToken(t.Context(), bob)
		if err != nil {
			t.Fatal(err)
		}
		nn, err := nameNode(t, c, nameNodeOptions(t, c, login)).DelegationToken(t.Context(), service, bob)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "tokens")
		both := &creds.Credentials{Tokens: map[string]*creds.Token{"rm": rm, "nn": nn}}
		if err := both.WriteFile(file, creds.Writable); err != nil {
			t.Fatal(err)
		}
		java(t, c, "HADOOP_TOKEN_FILE_LOCATION="+file, cluster.ApplicationCLI, "application", "-list")
		java(t, c, "HADOOP_TOKEN_FILE_LOCATION="+file, cluster.FsShell, "-ls", "/")
	})
	t.Run("we take java's", func(t *testing.T) {
		dir := t.TempDir()
		file, cache := filepath.Join(dir, "tokens"), filepath.Join(dir, "cache")
		if err := c.Kinit(t.Context(), alice, cache); err != nil {
			t.Fatal(err)
		}
		java(t, c, "KRB5CCNAME="+cache, "org.apache.hadoop.hdfs.tools.DelegationTokenFetcher", "--renewer", bob, file)
		got, err := creds.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		token := got.Select(creds.KindHDFSDelegation, service)
		if token == nil {
			t.Fatalf("%s has none for %s: %s", file, service, got)
		}
		o := nameNodeOptions(t, c, nil)
		o.Login, o.Token = nil, creds.Fixed(token)
		if err := nameNode(t, c, o).CancelDelegationToken(t.Context(), token); err != nil {
			t.Errorf("cancel it, with itself: %v", err)
		}
	})
}

// nameNodeService is what a token for the NameNode is filed under.
func nameNodeService(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	address := c.NameNodeAddress()
	if confOf(t, c).Get("hadoop.security.token.service.use_ip") == "false" {
		return creds.HostService(address)
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	ip, err := netip.ParseAddrPort("127.0.0.1:" + port)
	if err != nil {
		t.Fatal(err)
	}
	return creds.IPService(ip)
}

// java runs one of Hadoop's own commands with one more variable.
func java(t *testing.T, c *cluster.Cluster, variable, class string, args ...string) {
	t.Helper()
	cmd := c.Command(t.Context(), class, args...)
	cmd.Env = append(cmd.Env, variable)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", class, args, err, out)
	}
}
