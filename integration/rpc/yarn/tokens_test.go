package yarn

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestTokensThatRoll waits once for both keys of a ResourceManager that rolls them in seconds.
func TestTokensThatRoll(t *testing.T) {
	cluster.Long(t)
	c := clusters.Change(t, clusters.Hasty, "restarts the NodeManager")
	t.Run("a master outlives the token it started with", func(t *testing.T) {
		t.Parallel()
		outliveToken(t, c)
	})
	t.Run("a token for a node is replaced", func(t *testing.T) {
		t.Parallel()
		replaceToken(t, c)
	})
}

// outliveToken would catch an ApplicationMaster that keeps its first token. After a day, it would lose the
// ResourceManager with its next connection.
func outliveToken(t *testing.T, c *cluster.Cluster) {
	report := rpctest.SubmitUnmanaged(t, rpctest.Client(t, c, rpctest.Me(t)), "default", nil)
	o := rpctest.LeadOptions(t, c, report)
	var connections atomic.Int32
	o.RM.RPC.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		connections.Add(1)
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	m := rpctest.Lead(t, o)
	m.Await(t, "the first token is refused", "", func() bool { return refuses(t, o.RM.Addresses[0], report.AMRMToken) })
	if n := connections.Load(); n < 2 {
		t.Errorf("the first token was refused, and %d connections were made: none with a new one", n)
	}
	if _, err := m.Beat(t.Context(), ""); err != nil {
		t.Errorf("allocate with the new token: %v", err)
	}
	if err := m.RM.Finish(t.Context(), records.FinalSucceeded, "", ""); err != nil {
		t.Error(err)
	}
}

// refuses reports whether the ResourceManager no longer accepts connections with token.
func refuses(t *testing.T, scheduler string, token *creds.Token) bool {
	t.Helper()
	conn, err := yarnrpc.Dial(t.Context(), scheduler, yarnrpc.Options{Protocol: yarnrpc.ApplicationMasterProtocol, Auth: yarnrpc.Auth{Token: creds.Fixed(token)}})
	if errors.Is(err, yarnrpc.ErrInvalidToken) {
		return true
	}
	if err == nil {
		err = conn.Close()
	}
	if err != nil && !wait.OfTheWay(err) {
		t.Fatal(err)
	}
	return false
}

// replaceToken would catch a replaced token of YARN that does not reach the NodeManager's connections. A restarted
// NodeManager knows only the newest key, so no container could be started there.
func replaceToken(t *testing.T, c *cluster.Cluster) {
	m, _ := rpctest.Unmanaged(t, c, rpctest.Client(t, c, rpctest.Me(t)))
	begun := allocate(t, m, 1)[0]
	node := begun.Node
	first := m.RM.NMTokens()[node]
	if first == nil {
		t.Fatalf("the first container on %s came with no token", node)
	}
	if err := m.NM.Start(t.Context(), begun, run("exec sleep 1000")); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "YARN has replaced the token", func() bool {
		id := allocate(t, m, 1)[0].ID // tokens come with containers
		m.RM.Release(id)
		end(t, m, id)
		return !bytes.Equal(m.RM.NMTokens()[node].Identifier, first.Identifier)
	})
	if _, err := m.NM.Statuses(t.Context(), node, begun.ID); err != nil {
		t.Errorf("with the new token: %v", err)
	}

	back := make(chan error, 1) // of the restart, which may take longer than a master may be silent
	go func() { back <- c.Restart(t.Context(), "nodemanager1") }()
	var restarted error
	m.Await(t, "the NodeManager is back", "", func() bool {
		select {
		case restarted = <-back:
			return true
		default:
			return false
		}
	})
	if restarted != nil {
		t.Fatal(restarted)
	}
	// The earlier containers have ended with it, because this NodeManager recovers none.
	nm := rpctest.Closing(t, nmclient.New(nmclient.Options{}))
	nm.SetTokens(map[records.NodeID]*creds.Token{node: first})
	container := allocate(t, m, 1)[0]
	launch := run("exec sleep 1000")
	if err := nm.Start(t.Context(), container, launch); !errors.Is(err, yarnrpc.ErrInvalidToken) {
		t.Errorf("with the old token: %v", err)
	}
	nm.SetTokens(m.RM.NMTokens())
	if err := nm.Start(t.Context(), container, launch); err != nil {
		t.Errorf("with the newest token: %v", err)
	}
	if statuses, err := m.NM.Statuses(t.Context(), node, container.ID); err != nil || statuses[0].State != records.ContainerRunning {
		t.Errorf("the container is %+v, %v", statuses, err)
	}
}
