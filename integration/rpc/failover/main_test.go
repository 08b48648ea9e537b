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
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(tests{m}) }

// tests end with the shared cluster.
type tests struct{ m *testing.M }

// Run is for goleak.
func (r tests) Run() int { return clusters.Main(r.m) }

// newClient makes a user's whose calls are not kept waiting by each other, nor longer than patience, if it is not 0, by a
// server that says nothing. observe is told of each try.
func newClient(t *testing.T, c *cluster.Cluster, user string, patience time.Duration, observe func(yarnrpc.Try)) *yarnclient.Client {
	t.Helper()
	o, err := yarnclient.FromConf(confOf(t, c), user)
	if err != nil {
		t.Fatal(err)
	}
	o.RPC.MaxCalls, o.RPC.Observe = callers, observe
	if patience > 0 {
		o.RPC.RPCTimeout = patience
	}
	return rpctest.Closing(t, yarnclient.New(o))
}

// confOf is the cluster's configuration, with waits that grow.
func confOf(t *testing.T, c *cluster.Cluster) *hadoopconf.Conf {
	t.Helper()
	return rpctest.Conf(t, c).With("test", map[string]string{
		"yarn.client.failover-sleep-base-ms": "500", "yarn.client.failover-sleep-max-ms": "4000",
	})
}
