// Package failover tests what clients live through when the active ResourceManager, or
// NameNode, of two is killed, with calls of every kind on their way.
package failover

import (
	"os"
	"os/user"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/bobbin-yarn/bobbin/integration/internal/bobbintest"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(tests{m}) }

// tests end with the shared cluster.
type tests struct{ m *testing.M }

// Run is for goleak.
func (r tests) Run() int { return clusters.Main(r.m) }

// newClient makes one whose calls are not kept waiting by each other, nor for Hadoop's
// two minutes by a server that says nothing. observe is told of each try.
func newClient(t *testing.T, c *cluster.Cluster, observe func(yarnrpc.Try)) *yarnclient.Client {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	o, err := yarnclient.FromConf(confOf(t, c), u.Username)
	if err != nil {
		t.Fatal(err)
	}
	o.RPC.MaxCalls, o.RPC.RPCTimeout, o.RPC.Observe = callers, patience, observe
	return bobbintest.Closing(t, yarnclient.New(o))
}

// patience is how long a call waits for its answer; Hadoop's 2 minutes are longer than
// anybody here wants to wait for a server that has stopped.
const patience = 5 * time.Second

// confOf is the cluster's configuration, with waits that grow.
func confOf(t *testing.T, c *cluster.Cluster) *hadoopconf.Conf {
	t.Helper()
	conf, err := hadoopconf.Load(c.ConfDir(), hadoopconf.Environment{LookupEnv: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	return conf.With("test", map[string]string{
		"yarn.client.failover-sleep-base-ms": "500", "yarn.client.failover-sleep-max-ms": "4000",
	})
}
