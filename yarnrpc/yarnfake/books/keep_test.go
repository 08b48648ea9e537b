package books_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake/books"
)

// It would catch a second attempt that waits for a container which ended between the attempts. The
// end of 1.1.3 is known and in no answer; that of 1.1.4 comes later; that of 1.1.2 was in the last
// answer to the first attempt, which may be lost. 1.1.5 was granted and not started.
func TestTheNextAttemptLearnsOfEnds(t *testing.T) {
	c := newCluster(t, books.Settings{}, "a", "b", "c", "d")
	a := c.submit(keeping())
	c.beat()
	c.register(a)
	c.allocate(a, asks(4))
	c.beat()
	c.beat()
	granted := c.allocate(a, nothing())
	for _, one := range granted[:3] {
		c.start(one)
	}
	c.transcript()
	c.exit(granted[0].Node.Host, granted[0].ID, 2)
	c.allocate(a, nothing())
	c.exit(granted[1].Node.Host, granted[1].ID, 3)
	c.exit("a", c.runs[0], 1) // the master
	c.exit(granted[2].Node.Host, granted[2].ID, 4)
	a.Attempt = 2
	c.beat()
	c.register(a)
	c.allocate(a, nothing())
	c.allocate(a, nothing())
	c.expect(`
		1.1 allocates: ended 1.1.2 as 2
		RM to d: kill 1.1.5 as ABORTED
		RM to a: forget 1.1.1
		a runs 1.2.1
		1.2 registers:
		1.2 allocates: ended 1.1.3 as 3 ended 1.1.2 as 2 ended 1.1.5 as ABORTED ended 1.1.4 as 4
		RM to b: forget 1.1.3
		RM to a: forget 1.1.2
		RM to d: forget 1.1.5
		RM to c: forget 1.1.4
		1.2 allocates:`)
}

// It would catch containers of a failed attempt that live on although nobody keeps them, and the
// end of an old attempt's container that reaches the new attempt.
func TestContainersEndWithTheirAttempt(t *testing.T) {
	c := newCluster(t, books.Settings{}, "a", "b")
	a := c.submit(managed())
	c.beat()
	c.register(a)
	c.work(a)
	c.transcript()
	c.exit("a", c.runs[0], 1)
	a.Attempt = 2
	c.beat()
	c.register(a)
	c.allocate(a, nothing())
	c.expect(`
		RM to a: kill 1.1.2 as ABORTED
		a ends 1.1.2
		RM to a: forget 1.1.2
		RM to b: kill 1.1.3 as ABORTED
		b ends 1.1.3
		RM to b: forget 1.1.3
		RM to a: forget 1.1.1
		a runs 1.2.1
		1.2 registers:
		1.2 allocates:`)
}

// It would catch the master of a given-up attempt that ends although YARN keeps it like any container, an end of it that
// ends the next attempt, and a blacklist that the next attempt does not inherit.
func TestAGivenUpMasterIsKept(t *testing.T) {
	c := newCluster(t, books.Settings{}, "a")
	a := c.submit(keeping())
	c.beat()
	c.register(a)
	c.allocate(a, &yarnpb.AllocateRequestProto{BlacklistRequest: &yarnpb.ResourceBlacklistRequestProto{BlacklistAdditions: []string{"a"}}})
	c.transcript()
	c.fail(a)
	a.Attempt = 2
	c.beat()
	c.register(a)
	c.allocate(a, asks(1))
	c.beat()
	c.exit("a", c.runs[0], 3)
	c.allocate(a, nothing())
	c.note("%s", c.state(a))
	c.expect(`
		a runs 1.2.1
		1.2 registers: has 1.1.1
		1.2 allocates:
		1.2 allocates: ended 1.1.1 as 3
		RUNNING, attempt 2 is RUNNING`)
}

// secondAttempt makes a cluster whose user has failed the first attempt of an application. Both have registered.
func secondAttempt(t *testing.T) (c *cluster, first, second records.ApplicationAttemptID) {
	t.Helper()
	c = newCluster(t, books.Settings{}, "a")
	first = c.submit(managed())
	c.beat()
	c.register(first)
	c.fail(first)
	c.beat()
	second = first
	second.Attempt = 2
	c.register(second)
	return c, first, second
}

// It would catch a list of containers that depends on the attempt in the question, a container that the client is told
// has a state of its own before it runs, and the address of a master that has failed.
func TestAnOldAttemptIsAskedFor(t *testing.T) {
	c, a, next := secondAttempt(t)
	c.allocate(next, asks(1))
	c.beat()
	var containers yarnpb.GetContainersResponseProto
	request := c.encode(&yarnpb.GetContainersRequestProto{ApplicationAttemptId: pbconv.ApplicationAttemptIDProto(a)})
	c.class(c.step(books.ClientCall{User: "alice", Method: "getContainers", Request: request}), &containers)
	list := containers.GetContainers()
	if len(list) != 2 {
		t.Errorf("containers are %v", list)
	}
	for _, one := range list {
		if one.GetContainerId().GetAppAttemptId().GetAttemptId() != 2 || one.GetContainerState() != yarnpb.ContainerStateProto_C_RUNNING || one.GetContainerExitStatus() != 0 {
			t.Errorf("a container is %v", one)
		}
	}
	var attempt yarnpb.GetApplicationAttemptReportResponseProto
	request = c.encode(&yarnpb.GetApplicationAttemptReportRequestProto{ApplicationAttemptId: pbconv.ApplicationAttemptIDProto(a)})
	c.class(c.step(books.ClientCall{User: "alice", Method: "getApplicationAttemptReport", Request: request}), &attempt)
	if r := attempt.GetApplicationAttemptReport(); r.GetHost() != "N/A" || r.GetRpcPort() != -1 {
		t.Errorf("the failed master is at %s:%d", r.GetHost(), r.GetRpcPort())
	}
}

// It would catch an old attempt that is told, like the current one, to try again or that it has ended the application.
func TestAnOldAttemptIsRefused(t *testing.T) {
	c, a, next := secondAttempt(t)
	c.transcript()
	c.allocate(a, nothing())
	c.register(a)
	c.finish(a)
	c.finish(next)
	c.finish(a)
	c.expect(`
		1.1 allocates: ApplicationAttemptNotFoundException
		1.1 registers:InvalidApplicationMasterRequestException
		1.1 finishes: InvalidApplicationMasterRequestException
		1.2 finishes: false
		1.1 finishes: true`)
}

// It would catch an order that is lost for good: the link of a node fails while its container is
// killed, and while the end of another is confirmed.
func TestALostOrderIsRepeated(t *testing.T) {
	c := newCluster(t, books.Settings{}, "a", "b")
	a := c.submit(managed())
	c.beat()
	c.register(a)
	granted := c.work(a)
	c.transcript()
	c.cut["b"] = true
	c.step(books.ContainerTaken{ID: granted[1].ID, Exit: -102, Reason: "preempted"})
	c.allocate(a, nothing())
	c.allocate(a, nothing())
	c.cut["b"] = false
	c.beat()
	c.beat()
	c.expect(`
		RM to b: kill 1.1.3 as PREEMPTED
		1.1 allocates: ended 1.1.3 as PREEMPTED
		RM to b: forget 1.1.3
		1.1 allocates:
		RM to b: kill 1.1.3 as PREEMPTED
		b ends 1.1.3
		RM to b: forget 1.1.3`)
}

// It would catch an ask of a master that has unregistered and that still gets containers.
func TestAFinishedMasterGetsNothing(t *testing.T) {
	c := newCluster(t, books.Settings{}, "a")
	a := c.submit(managed())
	c.beat()
	c.register(a)
	c.finish(a)
	c.allocate(a, asks(1))
	c.beat()
	c.allocate(a, nothing())
	c.expect(`
		a runs 1.1.1
		1.1 registers:
		1.1 finishes: false
		1.1 allocates:
		1.1 allocates:`)
}

// It would catch a start that a NodeManager should refuse: each of these is a mistake of a master or
// of a forger.
func TestStartsAreJudged(t *testing.T) {
	c := newCluster(t, books.Settings{}, "a", "b")
	a := c.submit(managed())
	c.beat()
	c.register(a)
	c.allocate(a, asks(3))
	c.beat()
	c.beat()
	granted := c.allocate(a, nothing())
	elsewhere, forged, foreign := granted[0], granted[0], granted[0]
	elsewhere.Node.Host = "b"
	token := *granted[0].Token
	token.Password = []byte("forged")
	forged.Token = &token
	foreign.ID.Attempt.Application.ID = 9
	c.transcript()
	c.note("on the wrong node: %s", c.start(elsewhere))
	c.note("with a forged token: %s", c.start(forged))
	c.note("with a token of another application: %s", c.start(foreign))
	c.note("right: %s", c.start(granted[0]))
	c.note("again: %s", c.start(granted[0]))
	c.pass(books.ContainerExpiry + 1)
	c.note("late: %s", c.start(granted[1]))
	c.expect(`
		on the wrong node: YarnException: Container container_1000_0001_01_000002 is for node a:1
		with a forged token: SecretManager$InvalidToken
		with a token of another application: YarnException: Unauthorized request to start container container_1000_0001_01_000002
		a runs 1.1.2
		right: started
		again: YarnException: Container container_1000_0001_01_000002 already is running on this node !!
		late: YarnException: Unauthorized request to start container. This token is expired.`)
}

// It would catch a stop that overwrites the reason of an earlier one.
func TestTheFirstReasonOfAnEndStays(t *testing.T) {
	node := books.NewNodeManager(nodeA(), unit)
	c := newCluster(t, books.Settings{}, "a")
	a := c.submit(managed())
	c.beat()
	for _, effect := range c.rm.Step(c.now, books.NodeReport{}) {
		if _, is := effect.(books.Resync); !is {
			t.Errorf("an unknown node gets %T", effect)
		}
	}
	node.Step(c.now, books.Start{})
	node.Step(c.now, books.Registered{ResourceManager: c.rm.Identifier(), NM: keys(10).NM, Container: keys(10).Container})
	c.register(a)
	c.allocate(a, asks(1))
	c.beat()
	one := c.allocate(a, nothing())[0]
	request, err := proto.Marshal(startOf(one))
	if err != nil {
		t.Fatal(err)
	}
	node.Step(c.now, books.NodeCall{Application: a.Application, Method: "startContainers", Request: request})
	if effects := node.Step(c.now, books.Kill{ID: one.ID, Exit: -102, Reason: "preempted"}); len(effects) != 1 {
		t.Errorf("the first end has the effects %v", effects)
	}
	if effects := node.Step(c.now, books.Kill{ID: one.ID, Exit: -100, Reason: "released"}); len(effects) != 0 {
		t.Errorf("the second end has the effects %v", effects)
	}
	node.Step(c.now, books.Exited{ID: one.ID, Exit: 0})
	if got := node.Containers(); len(got) != 1 || got[0].Exit != -102 || got[0].Diagnostics != "preempted" {
		t.Errorf("it ended as %+v", got)
	}
}
