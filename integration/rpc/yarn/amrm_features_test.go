package yarn

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/nmclient"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// What an ApplicationMaster can ask for beyond containers on hosts, on a cluster
// that has all of it.
func TestAnApplicationMastersFeatures(t *testing.T) {
	t.Parallel()
	const queue = "yarn.scheduler.capacity.root."
	c := cluster.ForTest(t, cluster.Config{
		YARN: map[string]string{
			"yarn.resourcemanager.placement-constraints.handler":              "scheduler",
			"yarn.resourcemanager.opportunistic-container-allocation.enabled": "true",
			"yarn.nodemanager.opportunistic-containers-max-queue-length":      "10",
			"yarn.node-labels.enabled":                                        "true",
			"yarn.node-labels.fs-store.root-dir":                              "file://" + filepath.Join(t.TempDir(), "labels"),
			// Preemption that is soon asked for, and left to the masters.
			"yarn.resourcemanager.scheduler.monitor.enable":                               "true",
			"yarn.resourcemanager.monitor.capacity.preemption.monitoring_interval":        "500",
			"yarn.resourcemanager.monitor.capacity.preemption.max_wait_before_kill":       "600000",
			"yarn.resourcemanager.monitor.capacity.preemption.total_preemption_per_round": "1.0",
			"yarn.resourcemanager.monitor.capacity.preemption.natural_termination_factor": "1.0",
			"yarn.resourcemanager.monitor.capacity.preemption.max_ignored_over_capacity":  "0.0",
		},
		Scheduler: map[string]string{
			queue + "small.acl_submit_applications":               "*",
			queue + "accessible-node-labels":                      "gpu",
			queue + "accessible-node-labels.gpu.capacity":         "100",
			queue + "default.accessible-node-labels":              "gpu",
			queue + "default.accessible-node-labels.gpu.capacity": "100",
		},
	})
	t.Run("containers that shun each other are on different nodes", func(t *testing.T) { antiAffinity(t, c) })
	t.Run("an opportunistic container runs and is promoted", func(t *testing.T) { promotion(t, c) })
	t.Run("a guaranteed container is demoted", func(t *testing.T) { demotion(t, c) })
	t.Run("a strict ask waits for its host until it is relaxed", func(t *testing.T) { relaxing(t, c) })
	t.Run("a queue gets back what it was promised", func(t *testing.T) { preemption(t, c) })
	t.Run("a container grows and shrinks", func(t *testing.T) { resizing(t, c) })
	t.Run("hosts that are avoided get nothing", func(t *testing.T) { blacklisting(t, c) })
	t.Run("a killed ResourceManager gets back each ask once", func(t *testing.T) { resyncing(t, c) })
	// Last: the labelled node is lost to all others.
	t.Run("an ask for a label is served on the labelled node", func(t *testing.T) { labelling(t, c) })
}

// observed is a master that keeps all that it is told.
type observed struct {
	*master
	t        *testing.T
	id       records.ApplicationID
	client   *yarnclient.Client
	as       amrm.Registration
	updated  []amrm.UpdatedContainer
	refused  []*amrm.UpdateError
	rejected []amrm.Rejection
	preempt  amrm.Preemption // the last that was not empty
	surplus  int
}

func observe(t *testing.T, c *cluster.Cluster) *observed {
	t.Helper()
	return observeWith(t, c, "default", amrm.RegisterRequest{Host: "localhost", RPCPort: -1})
}

func observeWith(t *testing.T, c *cluster.Cluster, queue string, register amrm.RegisterRequest) *observed {
	t.Helper()
	client := newClient(t, c, me(t))
	report := submitUnmanaged(t, client, queue)
	nodes, err := client.ClusterNodes(t.Context(), records.NodeRunning)
	if err != nil {
		t.Fatal(err)
	}
	rm, err := amrm.FromConf(confOf(t, c))
	if err != nil {
		t.Fatal(err)
	}
	rm.Attempt, rm.Token, rm.RPC.Logger = report.Attempt, report.AMRMToken, logrus.New()
	m := &master{rm: amrm.New(rm), nm: nmclient.New(nmclient.Options{}), running: map[records.ContainerID]records.Container{}}
	for _, n := range nodes {
		m.nodes = append(m.nodes, amrm.NodeOf(n))
	}
	as, err := m.rm.Register(t.Context(), register)
	if err != nil {
		t.Fatal(errors.Join(err, m.close()))
	}
	o := &observed{master: m, t: t, id: report.ID, client: client, as: as}
	t.Cleanup(func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 30*time.Second)
		defer cancel()
		if err := errors.Join(m.rm.Finish(end, records.FinalSucceeded, "", ""), m.close()); err != nil {
			t.Error(err)
		}
	})
	return o
}

// until heartbeats, and starts what comes, until done.
func (o *observed) until(what string, done func() bool) {
	o.t.Helper()
	ctx, cancel := context.WithCancel(o.t.Context())
	defer cancel()
	last := ""
	for !done() {
		r, err := o.rm.Allocate(ctx, 0.5)
		if errors.Is(err, amrm.ErrAttemptGone) || ctx.Err() != nil {
			o.t.Fatalf("waiting until %s: %v, with %d running", what, errors.Join(err, ctx.Err()), len(o.running))
		}
		if err != nil && err.Error() != last {
			last = err.Error()
			o.t.Log(last)
		}
		o.nm.SetTokens(r.NMTokens)
		if r.Resynced {
			o.resynced++
		}
		if len(r.Preemption.Strict)+len(r.Preemption.Negotiable) > 0 {
			o.preempt = r.Preemption
		}
		o.surplus += len(r.Surplus)
		o.updated = append(o.updated, r.Updated...)
		o.refused = append(o.refused, r.UpdateErrors...)
		o.rejected = append(o.rejected, r.Rejected...)
		for _, c := range r.Allocated {
			if err := o.nm.Start(ctx, c, records.ContainerLaunchContext{Commands: []string{"sleep 1000"}}); err != nil {
				o.t.Fatal(err)
			}
			o.running[c.ID] = c
		}
		for _, s := range r.Completed {
			delete(o.running, s.ID)
		}
		timer := time.NewTimer(100 * time.Millisecond)
		<-timer.C
	}
}

func (o *observed) has(n int) func() bool { return func() bool { return len(o.running) == n } }

// one is the only container.
func (o *observed) one() records.Container {
	o.t.Helper()
	for _, c := range o.running {
		if len(o.running) == 1 {
			return c
		}
	}
	o.t.Fatalf("%d containers run", len(o.running))
	return records.Container{}
}

func (o *observed) hosts() []string {
	var hosts []string
	for _, c := range o.running {
		hosts = append(hosts, c.Node.Host)
	}
	slices.Sort(hosts)
	return hosts
}

// status is what the NodeManager says of a container.
func (o *observed) status(c records.Container) records.ContainerStatus {
	o.t.Helper()
	statuses, err := o.nm.Statuses(o.t.Context(), c.Node, c.ID)
	if err != nil || len(statuses) != 1 {
		o.t.Fatalf("statuses are %+v, %v", statuses, err)
	}
	return statuses[0]
}

func antiAffinity(t *testing.T, c *cluster.Cluster) {
	o := observe(t, c)
	specs, err := records.ParsePlacementSpec("shy(3),notin,node,shy")
	if err != nil {
		t.Fatal(err)
	}
	key := amrm.AskKey{Priority: 3, RequestID: 1}
	o.rm.SetSchedulingRequest(amrm.SchedulingRequest{
		Key: key, Capability: unit, Count: specs[0].Count, Tags: []string{specs[0].Tag}, Constraint: specs[0].Constraint,
	})
	o.until("two are placed", o.has(2))
	if hosts := o.hosts(); !slices.Equal(hosts, c.NodeManagers()) || o.rm.Outstanding(key) != 1 {
		t.Errorf("they are on %v, and %d are outstanding", hosts, o.rm.Outstanding(key))
	}
	for id, container := range o.running {
		if !slices.Equal(container.AllocationTags, []string{"shy"}) {
			t.Errorf("tags are %v", container.AllocationTags)
		}
		// The third has no place until one of the two is gone, and then only there.
		// A NodeManager overlooks the release of what it is about to start.
		o.until("it runs", func() bool { return o.status(container).SubState == records.ContainerSubRunning })
		o.rm.Release(id)
		o.until("one is gone", func() bool { _, ok := o.running[id]; return !ok })
		o.until("the third is placed", o.has(2))
		break
	}
	if hosts := o.hosts(); !slices.Equal(hosts, c.NodeManagers()) || o.rm.Outstanding(key) != 0 {
		t.Errorf("they are on %v, and %d are outstanding", hosts, o.rm.Outstanding(key))
	}
}

func promotion(t *testing.T, c *cluster.Cluster) {
	o := observe(t, c)
	key := amrm.AskKey{Priority: 4, ExecutionType: records.ExecutionOpportunistic}
	o.rm.SetAsk(amrm.Ask{Key: key, Capability: unit, Count: 1})
	o.until("an opportunistic container is there", o.has(1))
	container := o.one()
	if container.ExecutionType != records.ExecutionOpportunistic || o.rm.Outstanding(key) != 0 {
		t.Errorf("container is %s, %d are outstanding", container.ExecutionType, o.rm.Outstanding(key))
	}
	o.until("it runs", func() bool { return o.status(container).SubState == records.ContainerSubRunning })
	if status := o.status(container); status.ExecutionType != records.ExecutionOpportunistic {
		t.Errorf("it runs as %s", status.ExecutionType)
	}
	if err := o.rm.Promote(container); err != nil {
		t.Fatal(err)
	}
	o.until("it is promoted", func() bool { return len(o.updated)+len(o.refused) > 0 })
	if len(o.updated) != 1 || o.updated[0].Type != amrm.Promote || o.updated[0].Container.ExecutionType != records.ExecutionGuaranteed {
		t.Fatalf("updates are %+v, refused %v", o.updated, o.refused)
	}
	promoted := o.updated[0].Container
	if err := o.nm.Update(t.Context(), promoted); err != nil {
		t.Fatal(err)
	}
	o.until("its node knows", func() bool { return o.status(promoted).ExecutionType == records.ExecutionGuaranteed })
	if err := o.rm.Promote(promoted); !errors.Is(err, amrm.ErrUpdateUseless) {
		t.Errorf("promoting it again: %v", err)
	}
	// The record that the promotion has made old.
	if err := o.rm.Promote(container); err != nil {
		t.Fatal(err)
	}
	o.until("an old version is refused", func() bool { return len(o.refused) > 0 })
	if e := o.refused[0]; e.Reason != amrm.ReasonVersion || e.CurrentVersion != promoted.Version || e.Update.Container != container.ID {
		t.Errorf("refused because %v", e)
	}
}

func resizing(t *testing.T, c *cluster.Cluster) {
	o := observe(t, c)
	o.ask(1)
	o.until("a container is there", o.has(1))
	container := o.one()
	for _, memory := range []int64{512, 256} {
		to := records.Resource{MemoryMB: memory, VCores: unit.VCores}
		o.updated = nil
		if err := o.rm.Resize(container, to); err != nil {
			t.Fatal(err)
		}
		if err := o.rm.Resize(container, to); !errors.Is(err, amrm.ErrUpdateOutstanding) {
			t.Errorf("a second update at once: %v", err)
		}
		o.until("its size has changed", func() bool { return len(o.updated)+len(o.refused) > 0 })
		if len(o.updated) != 1 || o.updated[0].Container.Resource != to || o.updated[0].Container.Version != container.Version+1 {
			t.Fatalf("updates are %+v, refused %v", o.updated, o.refused)
		}
		container = o.updated[0].Container
		if o.updated[0].Type == amrm.Increase {
			if err := o.nm.Update(t.Context(), container); err != nil {
				t.Fatal(err)
			}
		}
		o.until("its node and YARN say so", func() bool {
			app, err := c.RM().App(t.Context(), o.id.String())
			return err == nil && int64(app.AllocatedMB) == memory && o.status(container).Capability == to
		})
	}
	if err := o.rm.Resize(container, records.Resource{MemoryMB: 1 << 30, VCores: 1}); err != nil {
		t.Fatal(err)
	}
	o.until("too large a size is refused", func() bool { return len(o.refused) > 0 })
	if o.refused[0].Reason != amrm.ReasonRange {
		t.Errorf("refused because %v", o.refused[0])
	}
}

func blacklisting(t *testing.T, c *cluster.Cluster) {
	o := observe(t, c)
	avoided, other := c.NodeManagers()[0], c.NodeManagers()[1]
	o.rm.Blacklist([]string{avoided}, nil)
	o.ask(4) // which names both hosts
	o.until("four containers are there", o.has(4))
	if hosts := o.hosts(); slices.Contains(hosts, avoided) {
		t.Errorf("they are on %v", hosts)
	}
	// With the other one avoided instead, only the first is left.
	o.rm.Blacklist([]string{other}, []string{avoided})
	o.ask(2)
	o.until("two more are there", o.has(6))
	if hosts := o.hosts(); !slices.Equal(hosts, []string{avoided, avoided, other, other, other, other}) {
		t.Errorf("they are on %v", hosts)
	}
}

func resyncing(t *testing.T, c *cluster.Cluster) {
	o := observe(t, c)
	// Two run; two asks and a scheduling request have no place.
	o.ask(2)
	o.until("two containers are there", o.has(2))
	o.rm.Blacklist(c.NodeManagers(), nil)
	o.until("no host is left", func() bool { return !o.rm.Changed() })
	o.ask(2)
	request := amrm.SchedulingRequest{
		Key: amrm.AskKey{Priority: 7}, Capability: unit, Count: 2, Tags: []string{"shy"},
		Constraint: records.Apart(records.ScopeNode, records.OwnTags("shy")...),
	}
	o.rm.SetSchedulingRequest(request)
	o.until("YARN knows", func() bool { return !o.rm.Changed() })
	if err := c.Kill(t.Context(), "resourcemanager"); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(t.Context(), "resourcemanager"); err != nil {
		t.Fatal(err)
	}
	o.until("it is registered again", func() bool { return o.resynced == 1 })
	if n := o.rm.Outstanding(amrm.AskKey{Priority: 1}) + o.rm.Outstanding(request.Key); n != 4 || len(o.running) != 2 {
		t.Errorf("%d are outstanding and %d run", n, len(o.running))
	}
	o.rm.Blacklist(nil, c.NodeManagers())
	o.until("all have come", o.has(6))
	if app, err := c.RM().App(t.Context(), o.id.String()); err != nil || app.RunningContainers != 6 || o.surplus != 0 {
		t.Errorf("YARN says %+v, %v; %d came that nobody wanted", app, err, o.surplus)
	}
}

func labelling(t *testing.T, c *cluster.Cluster) {
	node := c.NodeManagers()[0]
	java(t, c, "org.apache.hadoop.yarn.client.cli.RMAdminCLI", "-addToClusterNodeLabels", "gpu(exclusive=true)")
	java(t, c, "org.apache.hadoop.yarn.client.cli.RMAdminCLI", "-replaceLabelsOnNode", node+"=gpu")
	o := observe(t, c)
	o.rm.SetAsk(amrm.Ask{Key: amrm.AskKey{Priority: 5}, Capability: unit, Count: 2, NodeLabel: "gpu"})
	o.rm.SetSchedulingRequest(amrm.SchedulingRequest{
		Key: amrm.AskKey{Priority: 6}, Capability: unit, Count: 1, Tags: []string{"a"},
		Constraint: records.TagConstraint{Scope: records.ScopeNode, Tags: records.OwnTags("b"), Partition: "gpu"},
	})
	o.until("three containers are there", o.has(3))
	if hosts := o.hosts(); !slices.Equal(hosts, []string{node, node, node}) {
		t.Errorf("they are on %v", hosts)
	}
}
