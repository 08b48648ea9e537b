package yarn

import (
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// relaxing would catch an ask whose strictness has no effect. An ask for a host without widgets gets nothing, although
// the other host has some, as an ask for any host shows. After a time it is relaxed, and gets a container there.
func relaxing(t *testing.T, c *cluster.Cluster) {
	o := observe(t, c, "default")
	widgets := func(n int64) records.Resource {
		return rpctest.Unit().With(clusters.Widgets, records.ResourceAmount{Value: n})
	}
	host, other := o.Nodes[0], o.Nodes[1].Host
	whole := amrm.Ask{
		Key: amrm.AskKey{Priority: 1}, Capability: widgets(7), Count: 1, // all of a node's
		Hosts: []amrm.HostAsk{{Host: host.Host, Rack: host.Rack, Count: 1}}, Strict: true,
	}
	o.RM.SetAsk(whole)
	o.until("the host has none left", o.Has(1))
	if on := o.one().Node.Host; on != host.Host {
		t.Errorf("the strict ask was served on %s, want %s", on, host.Host)
	}
	strict := amrm.Ask{Key: amrm.AskKey{Priority: 2}, Capability: widgets(1), Count: 1, Hosts: whole.Hosts, Strict: true}
	o.RM.SetAsk(strict)
	o.RM.SetAsk(amrm.Ask{Key: amrm.AskKey{Priority: 3}, Capability: widgets(1), Count: 3})
	o.until("three of any host are there", o.Has(4))
	if n := o.RM.Outstanding(strict.Key); n != 1 {
		t.Errorf("%d of the strict ask are outstanding, on %v", n, o.Hosts())
	}
	relaxed := strict
	relaxed.RelaxAfter = time.Second
	o.RM.SetAsk(relaxed)
	o.until("the relaxed ask is served", func() bool { return o.RM.Outstanding(strict.Key) == 0 && len(o.Running) == 5 })
	for _, container := range o.Running {
		if container.Priority == strict.Key.Priority && container.Node.Host != other {
			t.Errorf("it is served on %s, want %s", container.Node.Host, other)
		}
	}
}

// TestAQueueGetsBackWhatItWasPromised would catch a master that does not get YARN's preemption requests. An application
// fills the cluster. YARN tells it that another queue needs its share, and which containers it may give back. It gives
// one back before YARN takes it.
func TestAQueueGetsBackWhatItWasPromised(t *testing.T) {
	c := clusters.Change(t, clusters.Features, "fills the cluster")
	o := observe(t, c, "default")
	quarter := records.Resource{MemoryMB: o.As.Maximum.MemoryMB / 4, VCores: 1}
	all := 4 * len(o.Nodes)
	o.RM.SetAsk(amrm.Ask{Key: amrm.AskKey{Priority: 1}, Capability: quarter, Count: all, Hosts: amrm.Spread(o.Nodes, all, quarter)})
	o.until("the cluster is full", o.Has(all))

	poor := observe(t, c, clusters.Small)
	poor.Ask(2)
	poor.until("YARN knows", func() bool { return !poor.RM.Changed() })
	o.until("something is wanted back", func() bool { return len(o.preempt.Negotiable) > 0 })
	if len(o.preempt.Strict) > 0 || len(o.preempt.Wanted) != 1 || o.preempt.Wanted[0].Place != "*" || o.preempt.Wanted[0].Count < 1 ||
		o.preempt.Wanted[0].Capability.MemoryMB <= 0 {
		t.Errorf("wanted back is %+v", o.preempt)
	}
	for _, id := range o.preempt.Negotiable {
		if _, ours := o.Running[id]; !ours {
			t.Errorf("the ResourceManager wants %s back, which is not ours", id)
		}
	}
	// A NodeManager that hears of the release while it still starts the container would let it run on, and YARN would not have its
	// memory back.
	o.runs(o.Running[o.preempt.Negotiable[0]])
	o.RM.Release(o.preempt.Negotiable[0])
	o.until("it is gone", o.Has(all-1))
	poor.until("the other queue has its share", poor.Has(2))
}
