package kerberos

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/tokenmanager"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
)

// TestTokensAreObtainedWithTheKeytab asks a NameNode for the end of its tokens. It would catch a
// renewer with another name than the one who comes to renew, and tokens that give no access.
func TestTokensAreObtainedWithTheKeytab(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Secure)
	login := rpctest.FromKeytab(t, c, alice)
	files := rpctest.FS(t, dfs.Options{Conf: rpctest.Conf(t, c), User: alice, Login: login})
	root, err := files.Root("/tmp")
	if err != nil {
		t.Fatal(err)
	}
	provider := tokenmanager.HadoopFS{Files: files, Roots: []string{root, "file:///"}, Renewer: login.Principal().String()}
	got, err := provider.Obtain(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	token, err := files.TokenOf(t.Context(), root, got.Credentials)
	if err != nil || token == nil || len(got.Credentials.Tokens) != 1 {
		t.Fatalf("obtained %v, of which %v is for %s: %v", got.Credentials, token, root, err)
	}
	about, err := identifier.DecodeDelegation(token)
	if err != nil {
		t.Fatal(err)
	}
	if about.Renewer != alice {
		t.Errorf("the renewer is %q", about.Renewer)
	}
	// The renewal interval, not the week after which renewals end.
	if left := time.Until(got.Ends); left < 23*time.Hour || left > 25*time.Hour || !got.Ends.Before(about.Max) {
		t.Errorf("it ends in %v, and may be renewed until %v", left, about.Max)
	}

	// Like a task host: the newest tokens open connections.
	var held atomic.Pointer[creds.Credentials]
	host := rpctest.FS(t, dfs.Options{Conf: rpctest.Conf(t, c), User: alice, Credentials: held.Load})
	if _, err := host.Stat(t.Context(), "/tmp"); err == nil {
		t.Error("files are reached without a token")
	}
	held.Store(got.Credentials)
	if _, err := host.Stat(t.Context(), "/tmp"); err != nil {
		t.Errorf("with the new token: %v", err)
	}
}
