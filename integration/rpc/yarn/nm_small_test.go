package yarn

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/haservice"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

func serviceStatus(t *testing.T, address string) (haservice.Status, error) {
	t.Helper()
	c := haservice.New(address, yarnrpc.Options{User: yarnrpc.UserInformation{Effective: me(t)}})
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	return c.Status(t.Context())
}

func TestServersThatWorkAloneSaySo(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	rms, err := confOf(t, c).ResourceManagers()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{c.NameNodeAddress(), rms[0].Admin} {
		if status, err := serviceStatus(t, address); !errors.Is(err, haservice.ErrNotPaired) {
			t.Errorf("%s is %+v, %v", address, status, err)
		}
	}
}

// nameNode makes calls of a cluster's NameNode, with a token or as a user that it
// believes.
func nameNode(t *testing.T, c *cluster.Cluster, user string, token *creds.Token) *hdfs.NameNode {
	t.Helper()
	o := yarnrpc.Options{Protocol: yarnrpc.HDFSClientProtocol, User: yarnrpc.UserInformation{Effective: user}}
	if token != nil {
		o.Token = creds.Fixed(token)
	}
	return hdfs.NewNameNode(bobbintest.Closing(t, yarnrpc.NewProxy([]string{c.NameNodeAddress()}, o, yarnrpc.Policy{})))
}

func TestTheNameNodeOfAnOpenClusterIssuesNoDelegationTokens(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	nn := nameNode(t, c, me(t), nil)
	if token, err := nn.DelegationToken(t.Context(), c.NameNodeAddress(), me(t)); !errors.Is(err, hdfs.ErrNoDelegationTokens) {
		t.Errorf("token is %v, %v", token, err)
	}
}

// A NameNode can be made to issue tokens without Kerberos, and then takes them: what a
// token is worth before and after it is renewed and cancelled can be tried.
func TestDelegationTokensOfANameNode(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Config{
		NodeManagers: 1, Users: []string{alice},
		HDFS: map[string]string{"dfs.namenode.delegation.token.always-use": "true"},
	})
	_, port, err := net.SplitHostPort(c.NameNodeAddress())
	if err != nil {
		t.Fatal(err)
	}
	service := creds.IPService(netip.MustParseAddrPort(net.JoinHostPort("127.0.0.1", port)))
	token, err := nameNode(t, c, alice, nil).DelegationToken(t.Context(), service, me(t))
	if err != nil {
		t.Fatal(err)
	}
	id, err := identifier.DecodeDelegation(token)
	if err != nil || id.Owner != alice || id.Renewer != me(t) || token.Service != service {
		t.Errorf("%v has the identifier %+v, %v", token, id, err)
	}

	// It opens a connection, on which its owner speaks.
	if _, err := nameNode(t, c, "", token).Layout(t.Context(), "/nowhere"); err == nil || errors.Is(err, yarnrpc.ErrInvalidToken) {
		t.Errorf("a call with the token: %v", err)
	}

	mine := nameNode(t, c, me(t), nil)
	expires, err := mine.RenewDelegationToken(t.Context(), token)
	if err != nil || time.Until(expires) < 23*time.Hour || expires.After(id.Max) {
		t.Errorf("renewed until %v, at most %v, %v", expires, id.Max, err)
	}
	if _, err := nameNode(t, c, alice, nil).RenewDelegationToken(t.Context(), token); !errors.Is(err, yarnrpc.ErrAccessControl) {
		t.Errorf("renewed by its owner, who is not its renewer: %v", err)
	}
	if err := nameNode(t, c, "bob", nil).CancelDelegationToken(t.Context(), token); !errors.Is(err, yarnrpc.ErrAccessControl) {
		t.Errorf("cancelled by a stranger: %v", err)
	}

	if err := nameNode(t, c, alice, nil).CancelDelegationToken(t.Context(), token); err != nil {
		t.Error(err)
	}
	if _, err := mine.RenewDelegationToken(t.Context(), token); !errors.Is(err, yarnrpc.ErrInvalidToken) {
		t.Errorf("renewed after it was cancelled: %v", err)
	}
	if _, err := nameNode(t, c, "", token).Layout(t.Context(), "/nowhere"); !errors.Is(err, yarnrpc.ErrInvalidToken) {
		t.Errorf("a call with the cancelled token: %v", err)
	}
}
