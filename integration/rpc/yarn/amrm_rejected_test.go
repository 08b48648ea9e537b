package yarn

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// The other handler of placement constraints decides by itself, and gives up what
// has no place. A rule that came with the registration holds for what follows.
func TestWhatThePlacementProcessorCannotPlaceIsRejected(t *testing.T) {
	t.Parallel()
	c := cluster.ForTest(t, cluster.Config{YARN: map[string]string{
		"yarn.resourcemanager.placement-constraints.handler": "placement-processor",
	}})
	o := observeWith(t, c, "default", amrm.RegisterRequest{Host: "localhost", RPCPort: -1, Rules: []amrm.TagRule{
		{Tags: []string{"shy"}, Constraint: records.Apart(records.ScopeNode, records.OwnTags("shy")...)},
	}})
	lonely := amrm.SchedulingRequest{
		Key: amrm.AskKey{Priority: 1, RequestID: 1}, Capability: unit, Count: 1, Tags: []string{"lonely"},
		Constraint: records.Near(records.ScopeNode, records.OwnTags("nobody")...),
	}
	shy := amrm.SchedulingRequest{Key: amrm.AskKey{Priority: 1, RequestID: 2}, Capability: unit, Count: 2, Tags: []string{"shy"}}
	o.rm.SetSchedulingRequest(lonely)
	o.rm.SetSchedulingRequest(shy)
	o.until("one is rejected and two are placed", func() bool { return len(o.rejected) > 0 && len(o.running) == 2 })
	if diff := cmp.Diff([]amrm.Rejection{{Key: lonely.Key, Count: 1, Reason: amrm.CouldNotPlace}}, o.rejected); diff != "" {
		t.Errorf("rejected (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(c.NodeManagers(), o.hosts()); diff != "" || o.rm.Outstanding(lonely.Key)+o.rm.Outstanding(shy.Key) != 0 {
		t.Errorf("%d and %d are outstanding; hosts (-want +got):\n%s", o.rm.Outstanding(lonely.Key), o.rm.Outstanding(shy.Key), diff)
	}
}
