package secure

import (
	"errors"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/cluster"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// tokensStandIn checks that delegation tokens, got with Kerberos, open what the ticket opens, under
// the cluster's protection, and nothing more once they are cancelled.
func tokensStandIn(t *testing.T, c *cluster.Cluster) {
	login := fromKeytab(t, c, alice)
	t.Run("at the resourcemanager", func(t *testing.T) {
		client := newClient(t, options(t, c, login))
		token, err := client.DelegationToken(t.Context(), bob)
		if err != nil {
			t.Fatal(err)
		}
		o := options(t, c, nil)
		o.RPC.Login, o.RPC.Token = nil, creds.Fixed(token)
		bearer := newClient(t, o)
		if report := submit(t, bearer, "with a token"); report.User != alice {
			t.Errorf("the application is %s's", report.User)
		}
		if _, err := bearer.DelegationToken(t.Context(), bob); err == nil {
			t.Error("a token got a token")
		}
		if err := client.CancelDelegationToken(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		late := newClient(t, o)
		if _, err := late.NewApplication(t.Context()); !errors.Is(err, yarnrpc.ErrInvalidToken) {
			t.Errorf("with a cancelled token: got %v, want ErrInvalidToken", err)
		}
	})
	t.Run("at the namenode", func(t *testing.T) {
		o := nameNodeOptions(t, c, login)
		token, err := nameNode(t, c, o).DelegationToken(t.Context(), "127.0.0.1:1", bob)
		if err != nil {
			t.Fatal(err)
		}
		bearer := o
		bearer.Login, bearer.Token = nil, creds.Fixed(token)
		if _, err := nameNode(t, c, bearer).DelegationToken(t.Context(), "127.0.0.1:1", bob); err == nil {
			t.Error("a token got a token")
		}
		if err := nameNode(t, c, bearer).CancelDelegationToken(t.Context(), token); err != nil {
			t.Errorf("cancel it, with itself: %v", err)
		}
		renewer := o
		renewer.Login = fromKeytab(t, c, bob)
		if _, err := nameNode(t, c, renewer).RenewDelegationToken(t.Context(), token); !errors.Is(err, yarnrpc.ErrInvalidToken) {
			t.Errorf("renew a cancelled token: got %v, want ErrInvalidToken", err)
		}
	})
}

func nameNode(t *testing.T, c *cluster.Cluster, o yarnrpc.Options) *hdfs.NameNode {
	t.Helper()
	conn, err := yarnrpc.Dial(t.Context(), c.NameNodeAddress(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
	return hdfs.NewNameNode(conn)
}
