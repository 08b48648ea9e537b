package kerberos

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// TestTokensGoBetweenJavaAndUs would catch tokens that one side stores under a name under which the
// other side does not look.
func TestTokensGoBetweenJavaAndUs(t *testing.T) {
	t.Parallel()
	tokensGoBetweenJavaAndUs(t, clusters.Use(t, clusters.Secure))
}

// tokensGoBetweenJavaAndUs lets each side log in with the tokens of the other one, with the
// cluster's hadoop.security.token.service.use_ip.
func tokensGoBetweenJavaAndUs(t *testing.T, c *cluster.Cluster) {
	service := fileService(t, c)
	t.Run("java takes ours", func(t *testing.T) {
		rm, err := rpctest.Client(t, c, alice).DelegationToken(t.Context(), bob)
		if err != nil {
			t.Fatal(err)
		}
		nn, err := rpctest.NameNode(t, c, rpctest.NameNodeOptions(t, c, alice)).DelegationToken(t.Context(), service, bob)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "tokens")
		both := &creds.Credentials{Tokens: map[string]*creds.Token{"rm": rm, "nn": nn}}
		if err := both.WriteFile(file, creds.Writable); err != nil {
			t.Fatal(err)
		}
		rpctest.Java(t, c, creds.FileVariable+"="+file, cluster.ApplicationCLI, "application", "-list")
		rpctest.Java(t, c, creds.FileVariable+"="+file, cluster.FsShell, "-ls", "/")
	})
	t.Run("we take java's", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "tokens")
		rpctest.Java(t, c, rpctest.Identity(t, c, alice), "org.apache.hadoop.hdfs.tools.DelegationTokenFetcher", "--renewer", bob, file)
		got, err := creds.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		token := got.Select(creds.KindHDFSDelegation, service)
		if token == nil {
			t.Fatalf("%s has none for %s: %s", file, service, got)
		}
		o := rpctest.NameNodeOptions(t, c, alice)
		o.Login, o.Token = nil, creds.Fixed(token)
		if err := rpctest.NameNode(t, c, o).CancelDelegationToken(t.Context(), token); err != nil {
			t.Errorf("cancel it, with itself: %v", err)
		}
	})
}

// fileService returns the service name of tokens for the default file system.
func fileService(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	conf := rpctest.Conf(t, c)
	authority := strings.TrimPrefix(conf.Get("fs.defaultFS"), "hdfs://")
	service, err := hdfs.TokenService(t.Context(), conf, authority)
	if err != nil {
		t.Fatal(err)
	}
	return service
}
