package yarn

import (
	"errors"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// TestAContainerChangesItsExecutionType has the nodes for itself. When another container ends without a report,
// RMNodeImpl#findLostContainers treats each opportunistic container of that node as lost.
func TestAContainerChangesItsExecutionType(t *testing.T) {
	c := clusters.Change(t, clusters.Features, "has opportunistic containers, which others would end")
	t.Run("from guaranteed to opportunistic and back", func(t *testing.T) { demoteAndPromote(t, c) })
	t.Run("from opportunistic to guaranteed", func(t *testing.T) { promote(t, c) })
}

// demoteAndPromote would catch an update that works in only one direction.
func demoteAndPromote(t *testing.T, c *cluster.Cluster) {
	o := observe(t, c, "default")
	o.Ask(1)
	o.until("a guaranteed container is there", o.Has(1))
	container := o.one()
	o.runs(container)
	if err := o.RM.Demote(container); err != nil {
		t.Fatal(err)
	}
	o.until("it is demoted", func() bool { return len(o.updated)+len(o.refused) > 0 })
	if len(o.updated) != 1 || o.updated[0].Type != amrm.Demote || o.updated[0].Container.ExecutionType != records.ExecutionOpportunistic ||
		o.updated[0].Container.Version != container.Version+1 {
		t.Fatalf("updates are %+v, refused %v", o.updated, o.refused)
	}
	demoted := o.updated[0].Container
	if err := o.NM.Update(t.Context(), demoted); err != nil {
		t.Fatal(err)
	}
	o.until("its node knows", func() bool { return o.status(demoted).ExecutionType == records.ExecutionOpportunistic })

	// And back.
	o.updated = nil
	if err := o.RM.Promote(demoted); err != nil {
		t.Fatal(err)
	}
	o.until("it is promoted", func() bool { return len(o.updated)+len(o.refused) > 0 })
	if len(o.updated) != 1 || o.updated[0].Type != amrm.Promote || o.updated[0].Container.Version != demoted.Version+1 {
		t.Errorf("updates are %+v, refused %v", o.updated, o.refused)
	}
}

// promote would catch a lost execution type, and an update with an old version.
func promote(t *testing.T, c *cluster.Cluster) {
	o := observe(t, c, "default")
	key := amrm.AskKey{Priority: 4, ExecutionType: records.ExecutionOpportunistic}
	// Without a host YARN, which ignores labels here, may choose GPUNode and never promote the container there: the
	// promotion is a request for the application's own partition.
	o.RM.SetAsk(amrm.Ask{
		Key: key, Capability: rpctest.Unit(), Count: 1,
		Hosts: []amrm.HostAsk{{Host: clusters.PlainNode, Count: 1}}, Strict: true,
	})
	o.until("an opportunistic container is there", o.Has(1))
	container := o.one()
	if container.ExecutionType != records.ExecutionOpportunistic || o.RM.Outstanding(key) != 0 {
		t.Errorf("container is %s, %d are outstanding", container.ExecutionType, o.RM.Outstanding(key))
	}
	o.runs(container)
	if status := o.status(container); status.ExecutionType != records.ExecutionOpportunistic {
		t.Errorf("it runs as %s", status.ExecutionType)
	}
	if err := o.RM.Promote(container); err != nil {
		t.Fatal(err)
	}
	o.until("it is promoted", func() bool { return len(o.updated)+len(o.refused) > 0 })
	if len(o.updated) != 1 || o.updated[0].Type != amrm.Promote || o.updated[0].Container.ExecutionType != records.ExecutionGuaranteed {
		t.Fatalf("updates are %+v, refused %v", o.updated, o.refused)
	}
	promoted := o.updated[0].Container
	if err := o.NM.Update(t.Context(), promoted); err != nil {
		t.Fatal(err)
	}
	o.until("its node knows", func() bool { return o.status(promoted).ExecutionType == records.ExecutionGuaranteed })
	if err := o.RM.Promote(promoted); !errors.Is(err, amrm.ErrUpdateUseless) {
		t.Errorf("promoting it again: %v", err)
	}
	// The record that the promotion has made obsolete.
	if err := o.RM.Promote(container); err != nil {
		t.Fatal(err)
	}
	o.until("an old version is refused", func() bool { return len(o.refused) > 0 })
	if e := o.refused[0]; e.Reason != amrm.ReasonVersion || e.CurrentVersion != promoted.Version || e.Update.Container != container.ID {
		t.Errorf("refused because %v", e)
	}
}
