// Package failover tests what clients live through when the active ResourceManager, or
// NameNode, of two is killed, with calls of every kind on their way.
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

// tests end with the shared cluster.
type tests struct{ m *testing.M }

// Run is for goleak.
func (r tests) Run() int { return clusters.Main(r.m) }

// clientOptions are those of a user whose waits grow, and who waits no longer than patience, if it is not 0, for a server that
// says nothing.
func clientOptions(t *testing.T, c *cluster.Cluster, user string, patience time.Duration) yarnclient.Options {
	t.Helper()
	o := rpctest.ClientOptions(t, c, user)
	o.Policy.BaseDelay, o.Policy.MaxDelay = 500*time.Millisecond, 4*time.Second
	if patience > 0 {
		o.RPC.RPCTimeout = patience
	}
	return o
}
