package failover

import (
	"fmt"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// forever is the command of all its containers.
const forever = "exec sleep 1000000"

// newMaster registers an ApplicationMaster that survives the loss. Its application has a queue of its own, because in
// the other queue only the first few of many applications get containers.
func newMaster(t *testing.T, c *cluster.Cluster, patience time.Duration) (*rpctest.Master, records.ApplicationID) {
	t.Helper()
	report := rpctest.SubmitUnmanaged(t, rpctest.NewClient(t, clientOptions(t, c, clusters.Small, patience)), clusters.Small, nil)
	o := rpctest.LeadOptions(t, c, report)
	if patience > 0 {
		o.RM.RPC.RPCTimeout = patience
	}
	return rpctest.Lead(t, o), report.ID
}

// checkBooks compares the master's records with those of the active ResourceManager, and ends the application.
func checkBooks(t *testing.T, c *cluster.Cluster, m *rpctest.Master, app records.ApplicationID, want int) {
	t.Helper()
	if m.Surplus != 0 || m.RM.Outstanding(rpctest.Key()) != 0 || len(m.Completed) != 0 {
		t.Errorf("%d containers came without a request, and %d are outstanding; of the containers that should run, these ended: %v",
			m.Surplus, m.RM.Outstanding(rpctest.Key()), m.Completed)
	}
	wait.For(t, fmt.Sprintf("YARN counts %d containers", want), func() (bool, error) { // of a node once it has registered
		got, err := c.RM().App(t.Context(), app.String())
		return got.RunningContainers == want, err
	})
	if err := m.RM.Finish(t.Context(), records.FinalSucceeded, "", ""); err != nil {
		t.Error(err)
	}
}
