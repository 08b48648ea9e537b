package yarn

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestWhatThePlacementProcessorCannotPlaceIsRejected would catch a rejection that the master does not get, or whose
// request still counts. This handler of placement constraints decides itself, and rejects requests without a place. A
// constraint in the registration is valid for the later requests.
func TestWhatThePlacementProcessorCannotPlaceIsRejected(t *testing.T) {
	t.Parallel()
	o := observe(t, clusters.Use(t, clusters.Victim), "default", amrm.TagRule{
		Tags: []string{"shy"}, Constraint: records.Apart(records.ScopeNode, records.OwnTags("shy")...),
	})
	lonely := amrm.SchedulingRequest{
		Key: amrm.AskKey{Priority: 1, RequestID: 1}, Capability: rpctest.Unit(), Count: 1, Tags: []string{"lonely"},
		Constraint: records.Near(records.ScopeNode, records.OwnTags("nobody")...),
	}
	shy := amrm.SchedulingRequest{Key: amrm.AskKey{Priority: 1, RequestID: 2}, Capability: rpctest.Unit(), Count: 2, Tags: []string{"shy"}}
	o.RM.SetSchedulingRequest(lonely)
	o.RM.SetSchedulingRequest(shy)
	o.until("one is rejected and two are placed", func() bool { return len(o.rejected) > 0 && len(o.Running) == 2 })
	if diff := cmp.Diff([]amrm.Rejection{{Key: lonely.Key, Count: 1, Reason: amrm.CouldNotPlace}}, o.rejected); diff != "" {
		t.Errorf("rejected (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(hostsOf(o.Master), o.Hosts()); diff != "" || o.RM.Outstanding(lonely.Key)+o.RM.Outstanding(shy.Key) != 0 {
		t.Errorf("%d and %d are outstanding; hosts (-want +got):\n%s", o.RM.Outstanding(lonely.Key), o.RM.Outstanding(shy.Key), diff)
	}
}
