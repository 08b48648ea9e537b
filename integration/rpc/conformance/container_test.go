package conformance

import (
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/sasl"
)

// TestANodeManagerTakesItsTokenUnderEachProtection would catch a client that works only with a ResourceManager. A
// NodeManager protects its connections in the same way, but its tokens differ.
func TestANodeManagerTakesItsTokenUnderEachProtection(t *testing.T) {
	t.Parallel()
	c := clusters.Use(t, clusters.Features)
	for _, qop := range []sasl.QOP{sasl.QOPAuthentication, sasl.QOPIntegrity, sasl.QOPPrivacy} {
		t.Run(string(qop), func(t *testing.T) {
			t.Parallel()
			report := rpctest.SubmitUnmanaged(t, rpctest.Client(t, c, rpctest.Me(t)), "default", nil)
			o := rpctest.LeadOptions(t, c, report)
			o.RM.RPC.QOPs, o.NM.RPC.QOPs = []sasl.QOP{qop}, []sasl.QOP{qop}
			m := rpctest.Lead(t, o)
			m.Ask(1)
			m.Await(t, "a container has come", "exec sleep 1000", m.Has(1))
			for id, container := range m.Running {
				status, err := m.NM.Statuses(t.Context(), container.Node, id)
				if err != nil || len(status) != 1 || status[0].ID != id {
					t.Errorf("statuses are %+v, %v", status, err)
				}
				if err := m.NM.Stop(t.Context(), container.Node, id); err != nil {
					t.Error(err)
				}
			}
			if err := m.RM.Finish(t.Context(), records.FinalSucceeded, "", ""); err != nil {
				t.Error(err)
			}
		})
	}
}
