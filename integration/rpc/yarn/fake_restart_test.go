package yarn

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/integration/internal/cluster"
	"github.com/bobbin-yarn/bobbin/integration/internal/clusters"
	"github.com/bobbin-yarn/bobbin/integration/internal/rpctest"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake"
)

// daemons are those of a cluster that a conversation changes.
type daemons interface {
	freeze(node records.NodeID)
	thaw(node records.NodeID)
	// restart restarts the ResourceManager with its state, and lose without.
	restart()
	lose()
	// crash starts a NodeManager again without its state. command is that of its containers.
	crash(node records.NodeID, command string)
	// hurry makes masters that are silent for seconds fail.
	hurry()
}

const resourceManager = "resourcemanager"

// genuine are real daemons.
type genuine struct {
	t *testing.T
	c *cluster.Cluster
}

func (g genuine) must(err error) {
	g.t.Helper()
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g genuine) name(node records.NodeID) string {
	return fmt.Sprintf("nodemanager%d", 1+slices.Index(g.c.NodeManagers(), node.Host))
}

func (g genuine) freeze(node records.NodeID) {
	g.t.Helper()
	g.must(g.c.Pause(g.t.Context(), g.name(node)))
}
func (g genuine) thaw(node records.NodeID) { g.t.Helper(); g.must(g.c.Resume(g.name(node))) }

func (g genuine) restart() {
	g.t.Helper()
	g.must(g.c.Kill(g.t.Context(), resourceManager))
	g.must(g.c.Reconfigure(g.t.Context(), resourceManager, map[string]string{nodeExpiry: "8000"}))
}

func (g genuine) lose() {
	g.t.Helper()
	g.must(g.c.Kill(g.t.Context(), resourceManager))
	g.must(os.RemoveAll(filepath.Join(g.c.Dir(), resourceManager, "state")))
	g.must(g.c.Reconfigure(g.t.Context(), resourceManager, map[string]string{nodeExpiry: ""}))
}

func (g genuine) crash(node records.NodeID, command string) {
	g.t.Helper()
	g.must(g.c.Reconfigure(g.t.Context(), g.name(node), map[string]string{"yarn.nodemanager.recovery.enabled": "false"}))
	for _, process := range rpctest.Processes(g.t, command) { // the NodeManager has left them to the next one, which knows none
		pid, err := strconv.Atoi(process)
		g.must(err)
		g.must(syscall.Kill(pid, syscall.SIGKILL))
	}
}

func (g genuine) hurry() {
	g.t.Helper()
	g.must(g.c.Reconfigure(g.t.Context(), resourceManager, map[string]string{"yarn.am.liveness-monitor.expiry-interval-ms": "8000"}))
}

// nodeExpiry is how many milliseconds a NodeManager may be silent.
const nodeExpiry = "yarn.nm.liveness-monitor.expiry-interval-ms"

// imitated are those of the fake.
type imitated struct{ *yarnfake.Fake }

func (i imitated) freeze(node records.NodeID) { i.Freeze(node) }
func (i imitated) thaw(node records.NodeID)   { i.Thaw(node) }
func (i imitated) restart()                   { i.RestartResourceManagerAlone() }
func (i imitated) lose()                      { i.LoseResourceManager() }

func (i imitated) crash(node records.NodeID, _ string) { i.CrashNode(node) }
func (i imitated) hurry()                              {} // it does from the beginning

// It would catch a fake that forgets, keeps or reports otherwise than YARN when the ResourceManager restarts with and
// without its state, and when a node is silent.
func TestTheFakeClusterRestartsAsARealOne(t *testing.T) {
	cluster.Long(t)
	compareChanges(t, yarnfake.Config{Nodes: 2, NodeExpiry: 3 * time.Second}, "kills the ResourceManager, and makes it lose its state", (*conversation).restarts)
}

// compareChanges has a conversation that changes daemons with a fake and with a real cluster. why is what it does to
// the real one.
func compareChanges(t *testing.T, config yarnfake.Config, why string, have func(*conversation, daemons)) {
	t.Helper()
	f := startFake(t, config)
	fake := begin(t, f.Conf())
	have(fake, imitated{f})
	c := clusters.Change(t, clusters.Victim, why)
	talk := beginWith(t, c)
	have(talk, genuine{t, c})
	fake.same(talk)
}

func (c *conversation) restarts(d daemons) {
	s := c.stage(d)
	s.resyncs()
	s.losesANode()
	s.losesItsState()
}

// stage is what restarts begins with: an application that keeps containers, with containers of both attempts on both
// nodes, and one with an unmanaged master. The far node has no master.
type stage struct {
	*conversation
	daemons
	kept, other *application
	m, u        *leader
	near, far   records.NodeID
}

func (c *conversation) stage(d daemons) *stage {
	c.t.Helper()
	a := c.apply(func(s *records.SubmissionContext) { s.KeepContainers = true })
	first := a.lead(1)
	first.register("registers")
	nodes := a.nodes()
	first.grantOn(nodes[0], "old")
	first.grantOn(nodes[1], "also old")
	first.start("old", "also old")
	a.runs("old", "also old")
	a.exit("master1", 4)
	m := a.lead(2)
	s := &stage{conversation: c, daemons: d, kept: a, m: m, near: a.place("master2")}
	for _, name := range []string{"old", "also old"} {
		if id, at := a.containerID(name), a.place(name); at == s.near {
			a.names[id] = "oldNear"
		} else {
			a.names[id], s.far = "oldFar", at
		}
	}
	m.register("registers")
	m.quiet()
	m.grantOn(s.far, "newFar")
	m.grantOn(s.far, "dropped")
	m.grantOn(s.near, "newNear")
	m.grantOn(s.near, "unused")
	m.start("newFar", "dropped", "newNear")
	a.runs("newFar", "dropped", "newNear")

	s.other = c.apply(func(s *records.SubmissionContext) { s.Unmanaged = true })
	s.u = s.other.lead(1)
	s.u.register("registers")
	s.u.grantOn(s.near, "running")
	s.u.start("running")
	s.other.runs("running")
	return s
}

// resyncs restarts the ResourceManager. The far node reports its containers only after the masters have registered.
func (s *stage) resyncs() {
	s.t.Helper()
	s.freeze(s.far)
	s.restart()
	s.kept.listed(2, "master2", "oldNear", "newNear")
	s.other.listed(1, "running")
	s.kept.states("restarted")
	s.other.states("restarted")
	s.m.allocate("allocates", new(yarnpb.AllocateRequestProto))
	s.u.allocate("allocates", new(yarnpb.AllocateRequestProto))
	s.u.finish("finishes", yarnpb.FinalApplicationStatusProto_APP_SUCCEEDED)
	for range 2 {
		s.m.register("registers again")
		s.u.register("registers again")
	}
	s.kept.await(2, records.AttemptRunning)
	s.other.await(1, records.AttemptRunning)
	s.kept.states("registered again")
	s.m.learns(0, 0, 1)
	s.u.learns(0, 0, 1)
	s.m.start("unused")
	s.m.release("releases a container that no node has reported", "dropped")
	s.m.stop(s.near, "newNear")
	s.m.learns(1, 0, 0)
	s.m.grant("afterwards")
	s.m.start("afterwards")
	s.kept.runs("afterwards")
	s.thaw(s.far)
	s.kept.listed(2, "master2", "oldNear", "oldFar", "newFar", "afterwards")
	s.m.learns(1, 1, 1)
	s.u.learns(0, 0, 1)
	s.m.quiet()
}

// losesANode lets the far node be silent, and return with its containers.
func (s *stage) losesANode() {
	s.t.Helper()
	s.m.grantOn(s.far, "granted")
	s.freeze(s.far)
	s.m.learns(3, 0, 1)
	s.m.quiet()
	s.kept.listed(2, "master2", "oldNear", "afterwards")
	s.thaw(s.far)
	s.m.learns(0, 0, 1)
	s.m.start("granted")
	s.kept.sleeping(2) // near
	s.m.grantOn(s.far, "back")
	s.m.start("back")
	s.kept.runs("back")
	s.m.quiet()
	s.kept.listed(2, "master2", "oldNear", "afterwards", "back")
	s.kept.sleeping(3)
}

// losesItsState restarts the ResourceManager without its state.
func (s *stage) losesItsState() {
	s.t.Helper()
	s.m.grantOn(s.near, "late")
	s.lose()
	s.m.allocate("allocates", new(yarnpb.AllocateRequestProto))
	s.u.finish("finishes", yarnpb.FinalApplicationStatusProto_APP_SUCCEEDED)
	s.ask(s.client, "report of the application", "getApplicationReport", &yarnpb.GetApplicationReportRequestProto{
		ApplicationId: s.kept.attemptProto(1).GetApplicationId(),
	}, new(yarnpb.GetApplicationReportResponseProto), nothing)
	s.kept.sleeping(0)
	s.other.sleeping(0)
	s.m.stop(s.near, "oldNear")
	s.m.stop(s.far, "oldFar")
	s.m.start("late")
	next := s.apply(func(s *records.SubmissionContext) { s.Unmanaged = true })
	s.note("the next application is %d", next.id.ID)
	u := next.lead(1)
	u.register("registers")
	u.grant("new")
	u.start("new")
	next.runs("new")
}
