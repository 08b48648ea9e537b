// Package failover tests clients while the active one of two ResourceManagers or NameNodes is killed, with calls of
// every kind under way.
package failover

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(tests{m}) }

// tests ends with the shared cluster.
type tests struct{ m *testing.M }

// Run is for goleak.
func (r tests) Run() int { return clusters.Main(r.m) }

// clientOptions returns a user's options with growing waits. If patience is not 0, a client waits no longer for a
// server that does not answer.
func clientOptions(t *testing.T, c *cluster.Cluster, user string, patience time.Duration) yarnclient.Options {
	t.Helper()
	o := rpctest.ClientOptions(t, c, user)
	o.Policy.BaseDelay, o.Policy.MaxDelay = 500*time.Millisecond, 4*time.Second
	if patience > 0 {
		o.RPC.RPCTimeout = patience
	}
	return o
}
