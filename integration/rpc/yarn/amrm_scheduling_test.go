package yarn

import (
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

func demotion(t *testing.T, c *cluster.Cluster) {
	o := observe(t, c)
	o.ask(1)
	o.until("a guaranteed container is there", o.has(1))
	container := o.one()
	o.until("it runs", func() bool { return o.status(container).SubState == records.ContainerSubRunning })
	if err := o.rm.Demote(container); err != nil {
		t.Fatal(err)
	}
	o.until("it is demoted", func() bool { return len(o.updated)+len(o.refused) > 0 })
	if len(o.updated) != 1 || o.updated[0].Type != amrm.Demote || o.updated[0].Container.ExecutionType != records.ExecutionOpportunistic ||
		o.updated[0].Container.Version != container.Version+1 {
		t.Fatalf("updates are %+v, refused %v", o.updated, o.refused)
	}
	demoted := o.updated[0].Container
	if err := o.nm.Update(t.Context(), demoted); err != nil {
		t.Fatal(err)
	}
	o.until("its node knows", func() bool { return o.status(demoted).ExecutionType == records.ExecutionOpportunistic })

	// And back.
	o.updated = nil
	if err := o.rm.Promote(demoted); err != nil {
		t.Fatal(err)
	}
	o.until("it is promoted", func() bool { return len(o.updated)+len(o.refused) > 0 })
	if len(o.updated) != 1 || o.updated[0].Type != amrm.Promote || o.updated[0].Container.Version != demoted.Version+1 {
		t.Errorf("updates are %+v, refused %v", o.updated, o.refused)
	}
}

// A strict ask for a host that is full gets nothing, though the other host has room, as
// an ask for any host shows. Relaxed after a time, it is served there.
func relaxing(t *testing.T, c *cluster.Cluster) {
	o := observe(t, c)
	host, other := o.nodes[0], o.nodes[1].Host
	whole := amrm.Ask{
		Key: amrm.AskKey{Priority: 1}, Capability: records.Resource{MemoryMB: o.as.Maximum.MemoryMB, VCores: 1}, Count: 1, // a node's
		Hosts: []amrm.HostAsk{{Host: host.Host, Rack: host.Rack, Count: 1}}, Strict: true,
	}
	o.rm.SetAsk(whole)
	o.until("the host is full", o.has(1))
	if on := o.one().Node.Host; on != host.Host {
		t.Errorf("the strict ask was served on %s, want %s", on, host.Host)
	}
	strict := amrm.Ask{Key: amrm.AskKey{Priority: 2}, Capability: unit, Count: 1, Hosts: whole.Hosts, Strict: true}
	o.rm.SetAsk(strict)
	o.rm.SetAsk(amrm.Ask{Key: amrm.AskKey{Priority: 3}, Capability: unit, Count: 3}) // one with each heartbeat
	o.until("three of any host are there", o.has(4))
	if n := o.rm.Outstanding(strict.Key); n != 1 {
		t.Errorf("%d of the strict ask are outstanding, on %v", n, o.hosts())
	}
	relaxed := strict
	relaxed.RelaxAfter = time.Second
	o.rm.SetAsk(relaxed)
	o.until("the relaxed ask is served", func() bool { return o.rm.Outstanding(strict.Key) == 0 && len(o.running) == 5 })
	for _, container := range o.running {
		if container.Priority == strict.Key.Priority && container.Node.Host != other {
			t.Errorf("it is served on %s, want %s", container.Node.Host, other)
		}
	}
}

// An application that fills the cluster hears that another queue wants its share, and
// of which containers; it gives one back before YARN takes it.
func preemption(t *testing.T, c *cluster.Cluster) {
	o := observe(t, c)
	quarter := records.Resource{MemoryMB: o.as.Maximum.MemoryMB / 4, VCores: 1}
	all := 4 * len(o.nodes)
	o.rm.SetAsk(amrm.Ask{Key: amrm.AskKey{Priority: 1}, Capability: quarter, Count: all, Hosts: amrm.Spread(o.nodes, all, quarter)})
	o.until("the cluster is full", o.has(all))

	poor := observeWith(t, c, "small", amrm.RegisterRequest{Host: "localhost", RPCPort: -1})
	poor.ask(2)
	poor.until("YARN knows", func() bool { return !poor.rm.Changed() })
	o.until("something is wanted back", func() bool { return len(o.preempt.Negotiable) > 0 })
	if len(o.preempt.Strict) > 0 || len(o.preempt.Wanted) != 1 || o.preempt.Wanted[0].Place != "*" || o.preempt.Wanted[0].Count < 1 ||
		o.preempt.Wanted[0].Capability.MemoryMB <= 0 {
		t.Errorf("wanted back is %+v", o.preempt)
	}
	for _, id := range o.preempt.Negotiable {
		if _, ours := o.running[id]; !ours {
			t.Errorf("%s is wanted back, and is not ours", id)
		}
	}
	o.rm.Release(o.preempt.Negotiable[0])
	o.until("it is gone", o.has(all-1))
	poor.until("the other queue has its share", poor.has(2))
}
