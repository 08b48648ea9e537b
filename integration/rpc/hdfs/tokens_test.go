package hdfs

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds/identifier"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hdfs"
)

// nameNode makes calls to a cluster's NameNode, with a token or as a user whose name it accepts.
func nameNode(t *testing.T, c *cluster.Cluster, user string, token *creds.Token) *hdfs.NameNode {
	t.Helper()
	o := yarnrpc.Options{Protocol: yarnrpc.HDFSClientProtocol, Auth: yarnrpc.Auth{User: yarnrpc.UserInformation{Effective: user}}}
	if token != nil {
		o.Token = creds.Fixed(token)
	}
	return hdfs.NewNameNode(rpctest.Closing(t, yarnrpc.NewProxy([]string{c.NameNodeAddress()}, o, yarnrpc.Policy{})))
}

// TestTheNameNodeOfAnOpenClusterIssuesNoDelegationTokens would catch an empty answer that counts as a token.
func TestTheNameNodeOfAnOpenClusterIssuesNoDelegationTokens(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	nn := nameNode(t, c, rpctest.Me(t), nil)
	if token, err := nn.DelegationToken(t.Context(), c.NameNodeAddress(), rpctest.Me(t)); !errors.Is(err, hdfs.ErrNoDelegationTokens) {
		t.Errorf("token is %v, %v", token, err)
	}
}

// TestDelegationTokensOfANameNode would catch a token that other users can use, and one that is valid after its
// cancellation. A NameNode can be configured to issue tokens without Kerberos, and then accepts them.
func TestDelegationTokensOfANameNode(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Pair)
	_, port, err := net.SplitHostPort(c.NameNodeAddress())
	if err != nil {
		t.Fatal(err)
	}
	service := creds.IPService(netip.MustParseAddrPort(net.JoinHostPort("127.0.0.1", port)))
	token, err := nameNode(t, c, clusters.Alice, nil).DelegationToken(t.Context(), service, rpctest.Me(t))
	if err != nil {
		t.Fatal(err)
	}
	id, err := identifier.DecodeDelegation(token)
	if err != nil || id.Owner != clusters.Alice || id.Renewer != rpctest.Me(t) || token.Service != service {
		t.Errorf("%v has the identifier %+v, %v", token, id, err)
	}

	// It opens a connection as its owner.
	if _, err := nameNode(t, c, "", token).Locate(t.Context(), "/nowhere", 0, 1); err == nil || errors.Is(err, yarnrpc.ErrInvalidToken) {
		t.Errorf("a call with the token: %v", err)
	}

	mine := nameNode(t, c, rpctest.Me(t), nil)
	expires, err := mine.RenewDelegationToken(t.Context(), token)
	if err != nil || time.Until(expires) < 23*time.Hour || expires.After(id.Max) {
		t.Errorf("renewed until %v, at most %v, %v", expires, id.Max, err)
	}
	if _, err := nameNode(t, c, clusters.Alice, nil).RenewDelegationToken(t.Context(), token); !errors.Is(err, yarnrpc.ErrAccessControl) {
		t.Errorf("renewed by its owner, who is not its renewer: %v", err)
	}
	if err := nameNode(t, c, clusters.Bob, nil).CancelDelegationToken(t.Context(), token); !errors.Is(err, yarnrpc.ErrAccessControl) {
		t.Errorf("cancelled by a stranger: %v", err)
	}

	if err := nameNode(t, c, clusters.Alice, nil).CancelDelegationToken(t.Context(), token); err != nil {
		t.Error(err)
	}
	if _, err := mine.RenewDelegationToken(t.Context(), token); !errors.Is(err, yarnrpc.ErrInvalidToken) {
		t.Errorf("renewed after it was cancelled: %v", err)
	}
	if _, err := nameNode(t, c, "", token).Locate(t.Context(), "/nowhere", 0, 1); !errors.Is(err, yarnrpc.ErrInvalidToken) {
		t.Errorf("a call with the cancelled token: %v", err)
	}
}
