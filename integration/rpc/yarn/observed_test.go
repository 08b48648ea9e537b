package yarn

import (
	"slices"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnclient"
)

// observed is a master in the test's process that keeps all responses, and whose containers sleep.
type observed struct {
	*rpctest.Master
	t        *testing.T
	id       records.ApplicationID
	client   *yarnclient.Client
	updated  []amrm.UpdatedContainer
	refused  []*amrm.UpdateError
	rejected []amrm.Rejection
	preempt  amrm.Preemption // the last one that was not empty
}

// observe submits an application to a queue and registers its master, with constraints for the places of its
// containers.
func observe(t *testing.T, c *cluster.Cluster, queue string, rules ...amrm.TagRule) *observed {
	t.Helper()
	user := rpctest.Me(t)
	if queue == clusters.Small { // only this application may use it
		user = clusters.Small
	}
	client := rpctest.Client(t, c, user)
	report := rpctest.SubmitUnmanaged(t, client, queue, nil)
	options := rpctest.LeadOptions(t, c, report)
	options.Nodes, options.Register.Rules = rpctest.Nodes(t, client), rules
	o := &observed{Master: rpctest.Lead(t, options), t: t, id: report.ID, client: client}
	o.Heard = o.note
	t.Cleanup(func() {
		if err := o.RM.Finish(wait.Context(t), records.FinalSucceeded, "", ""); err != nil {
			t.Error(err)
		}
	})
	return o
}

func (o *observed) note(r amrm.Response) {
	if len(r.Preemption.Strict)+len(r.Preemption.Negotiable) > 0 {
		o.preempt = r.Preemption
	}
	o.updated = append(o.updated, r.Updated...)
	o.refused = append(o.refused, r.UpdateErrors...)
	o.rejected = append(o.rejected, r.Rejected...)
}

// until sends heartbeats, and starts the containers that come, until done.
func (o *observed) until(what string, done func() bool) {
	o.t.Helper()
	o.Await(o.t, what, "exec sleep 1000", done)
}

// one returns the only container.
func (o *observed) one() records.Container {
	o.t.Helper()
	for _, c := range o.Running {
		if len(o.Running) == 1 {
			return c
		}
	}
	o.t.Fatalf("%d containers run", len(o.Running))
	return records.Container{}
}

// status returns the NodeManager's report of a container.
func (o *observed) status(c records.Container) records.ContainerStatus {
	o.t.Helper()
	statuses, err := o.NM.Statuses(o.t.Context(), c.Node, c.ID)
	if err != nil || len(statuses) != 1 {
		o.t.Fatalf("statuses are %+v, %v", statuses, err)
	}
	return statuses[0]
}

// runs waits until the NodeManager has started a container, because it ignores the release of a container that it is
// about to start.
func (o *observed) runs(c records.Container) {
	o.t.Helper()
	o.until("it runs", func() bool { return o.status(c).SubState == records.ContainerSubRunning })
}

// release releases a container and waits until it has ended.
func (o *observed) release(id records.ContainerID) {
	o.t.Helper()
	o.RM.Release(id)
	o.until("it is gone", func() bool { _, ok := o.Running[id]; return !ok })
}

// node returns the ResourceManager's report of a node.
func (o *observed) node(id records.NodeID) records.NodeReport {
	o.t.Helper()
	nodes, err := o.client.ClusterNodes(o.t.Context(), records.NodeRunning)
	if err != nil {
		o.t.Fatal(err)
	}
	i := slices.IndexFunc(nodes, func(n records.NodeReport) bool { return n.ID == id })
	if i < 0 {
		o.t.Fatalf("%s is not among %d nodes", id, len(nodes))
	}
	return nodes[i]
}
