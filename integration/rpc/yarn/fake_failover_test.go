package yarn

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/hadoopconf"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// pair is a cluster with two ResourceManagers.
type pair interface {
	freeze(node records.NodeID)
	thaw(node records.NodeID)
	// failOver kills the active ResourceManager, and returns when the other one is active.
	failOver()
	// active returns the id of the active ResourceManager, and the path of its log if it is a real one.
	active() (id, log string)
}

func (g genuine) failOver() {
	g.t.Helper()
	g.must(g.c.Kill(g.t.Context(), rpctest.ActiveRM(g.t, g.c)))
	rpctest.ActiveRM(g.t, g.c)
}

func (g genuine) active() (id, log string) {
	g.t.Helper()
	name := rpctest.ActiveRM(g.t, g.c)
	return "rm" + strings.TrimPrefix(name, resourceManager), filepath.Join(g.c.LogDir(), name+".log")
}

// twin is a fake with two ResourceManagers.
type twin struct {
	imitated
	now string
}

func (t *twin) failOver() {
	t.FailOver()
	t.now = "rm2"
}

func (t *twin) active() (id, log string) { return t.now, "" }

// It would catch a fake whose standby answers, or whose second ResourceManager knows, forgets or refuses other things
// than YARN's after the first one was killed.
func TestTheFakeClusterFailsOverAsARealOne(t *testing.T) {
	cluster.Long(t)
	f := startFake(t, yarnfake.Config{HighAvailability: true, InMemory: true})
	fake := begin(t, f.Conf())
	fake.dial = f.Dial
	fake.failsOver(&twin{imitated{f}, "rm1"})
	c := clusters.Change(t, clusters.Pair, "kills the active ResourceManager")
	talk := begin(t, rpctest.Conf(t, c))
	talk.failsOver(genuine{t, c})
	fake.same(talk)
}

// failsOver kills the active ResourceManager after the calls of a master with two running containers, of a master that
// has unregistered, and of a client. All continue at the other one. The node reports its containers there only after the
// first master has registered.
func (c *conversation) failsOver(p pair) {
	c.turn(p)
	a := c.apply(func(s *records.SubmissionContext) { s.Unmanaged = true })
	m := a.lead(1)
	m.register("registers")
	m.grant("running", "dropped")
	m.start("running", "dropped")
	a.runs("running", "dropped")
	m.refused("the standby")

	e := c.apply(func(*records.SubmissionContext) {})
	ended := e.lead(1)
	ended.register("registers")
	ended.finish("finishes", yarnpb.FinalApplicationStatusProto_APP_SUCCEEDED)
	ended.finished()
	e.states("recorded")

	submitted, unsent := c.submission("default"), c.submission("default")
	for _, s := range []*yarnpb.SubmitApplicationRequestProto{submitted, unsent} {
		c.kills(a.client, idOf(s.GetApplicationSubmissionContext().GetApplicationId()))
	}
	c.submits("is submitted", submitted)
	c.launched(submitted)

	node := a.place("running")
	p.freeze(node)
	m.allocate("asks", askFor(128))
	p.failOver()
	c.turn(p)
	m.refused("the one that was killed")
	c.continues(submitted, unsent)
	ended.isKnown()
	m.resyncs(p, node)
}

// continues calls again as a client without an answer to its submission, and as a client with an unused id.
func (c *conversation) continues(submitted, unsent *yarnpb.SubmitApplicationRequestProto) {
	c.t.Helper()
	c.launched(submitted)
	c.report("submitted before")
	c.submits("is submitted again", submitted)
	for range 2 {
		c.submits("has an id of the other ResourceManager", unsent)
	}
	c.launched(unsent)
	c.report("submitted after")
}

// isKnown calls again as a master without an answer to its end.
func (l *leader) isKnown() {
	l.t.Helper()
	l.states("taken over")
	l.connect()
	l.finish("finishes again", yarnpb.FinalApplicationStatusProto_APP_FAILED)
	l.allocate("allocates", new(yarnpb.AllocateRequestProto))
	l.register("registers again")
}

// resyncs leads the application with the containers to its end.
func (l *leader) resyncs(p pair, node records.NodeID) {
	l.t.Helper()
	l.states("taken over")
	l.connect()
	l.allocate("allocates", new(yarnpb.AllocateRequestProto))
	l.finish("finishes", yarnpb.FinalApplicationStatusProto_APP_FAILED)
	before := l.next
	for range 2 {
		l.register("registers again")
	}
	l.await(1, records.AttemptRunning)
	l.states("registered again")
	l.listed(1)
	l.next = before
	l.allocate("allocates with the next id of before", new(yarnpb.AllocateRequestProto))
	l.next = 0
	l.allocate("allocates", new(yarnpb.AllocateRequestProto))
	l.release("releases a container that no node has reported", "dropped")
	p.thaw(node)
	l.learns(1, 0, 1)
	l.quiet() // nothing is granted: YARN has forgotten the ask
	l.listed(1, "running")
	l.sleeping(1)
	l.grant("again")
	l.start("again")
	l.runs("again")
	l.release("releases", "running")
	l.learns(1, 0, 0)
	l.listed(1, "again")
	l.finish("finishes", yarnpb.FinalApplicationStatusProto_APP_SUCCEEDED)
	l.await(1, records.AttemptFinished)
	rpctest.Await(l.t, l.client, l.id, "finished", rpctest.Ended)
	l.states("at last")
	l.sleeping(0)
	l.allocate("allocates", new(yarnpb.AllocateRequestProto))
}

// turn makes the conversation call the active ResourceManager.
func (c *conversation) turn(p pair) {
	c.t.Helper()
	rms, err := c.conf.ResourceManagers()
	if err != nil {
		c.t.Fatal(err)
	}
	var id string
	id, c.log = p.active()
	c.rm = slices.IndexFunc(rms, func(rm hadoopconf.ResourceManager) bool { return rm.ID == id })
	c.connect()
}

// submits records a submission.
func (c *conversation) submits(what string, s *yarnpb.SubmitApplicationRequestProto) {
	c.t.Helper()
	c.ask(c.client, "an application "+what, "submitApplication", s, new(yarnpb.SubmitApplicationResponseProto), nothing)
}

// refused calls the ResourceManager that is not active, as a client and as a master.
func (l *leader) refused(of string) {
	l.t.Helper()
	rms, err := l.conf.ResourceManagers()
	if err != nil {
		l.t.Fatal(err)
	}
	client := l.conversation.proxy(rms[1-l.rm].Client, yarnrpc.ApplicationClientProtocol, nil)
	master := l.conversation.proxy(rms[1-l.rm].Scheduler, yarnrpc.ApplicationMasterProtocol, l.token)
	err = client.Call(l.ctx, "getClusterMetrics", new(yarnpb.GetClusterMetricsRequestProto), new(yarnpb.GetClusterMetricsResponseProto))
	l.note("%s refuses a client: %t, %v", of, errors.Is(err, syscall.ECONNREFUSED), yarnrpc.Classify(err))
	err = master.Call(l.ctx, "allocate", new(yarnpb.AllocateRequestProto), new(yarnpb.AllocateResponseProto))
	l.note("%s refuses a master: %t, %v", of, errors.Is(err, syscall.ECONNREFUSED), yarnrpc.Classify(err))
}
