package yarn

import (
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// It would catch a fake that ends silent masters, or the containers of a crashed NodeManager, otherwise than YARN.
func TestTheFakeClusterExpiresMastersAsARealOne(t *testing.T) {
	cluster.Long(t)
	compareChanges(t, yarnfake.Config{Nodes: 2, MasterExpiry: 5 * time.Second},
		"restarts a NodeManager without its state, and loses silent masters soon", (*conversation).expires)
}

func (c *conversation) expires(d daemons) {
	c.outlivesNode(d)
	d.hurry()

	// A master that has registered, and the next one that has not.
	silent := c.apply(func(s *records.SubmissionContext) { s.KeepContainers = true })
	first := silent.lead(1)
	first.register("registers")
	first.grant("kept")
	first.start("kept")
	silent.runs("kept")

	// A master that has unregistered and does not exit.
	lingering := c.apply(func(*records.SubmissionContext) {})
	last := lingering.lead(1)
	last.register("registers")
	last.finish("finishes", yarnpb.FinalApplicationStatusProto_APP_SUCCEEDED)
	last.finished()

	second := silent.lead(2)
	silent.states("after the silence")
	silent.listed(2, "master2", "kept")
	first.allocate("allocates", new(yarnpb.AllocateRequestProto))
	second.allocate("allocates", new(yarnpb.AllocateRequestProto))
	silent.await(2, records.AttemptFailed)
	rpctest.Await(c.t, silent.client, silent.id, "failed", rpctest.Ended)
	silent.states("after the second silence")
	silent.sleeping(0)

	lingering.await(1, records.AttemptFinished)
	lingering.states("after the silence")
	last.allocate("allocates", new(yarnpb.AllocateRequestProto))
}

// outlivesNode starts a NodeManager again without its state. Its containers are gone for YARN.
func (c *conversation) outlivesNode(d daemons) {
	a := c.apply(func(s *records.SubmissionContext) { s.Unmanaged = true })
	l := a.lead(1)
	l.register("registers")
	node := a.nodes()[0]
	l.grantOn(node, "running")
	l.grantOn(node, "unused")
	l.start("running")
	a.runs("running")
	d.crash(node, a.sleep)
	l.learns(2, 0, 0)
	l.quiet()
	l.stop(node, "running")
	l.start("unused")
	a.sleeping(0) // YARN does not know it, and ends it
	l.grantOn(node, "new")
	l.start("new")
	a.runs("new")
	l.finish("finishes", yarnpb.FinalApplicationStatusProto_APP_SUCCEEDED)
	a.sleeping(0)
}
