package books_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake/books"
)

// It would catch a master that takes the list of its registration for complete: after a restart of
// the ResourceManager, containers of earlier attempts become known only with their nodes. So would
// their ends.
func TestContainersComeBackWithTheirNodes(t *testing.T) {
	c := newCluster(t, books.Settings{}, "a", "b", "c")
	a := c.submit(keeping())
	c.beat()
	c.register(a)
	c.work(a)
	c.exit("a", c.runs[0], 1) // the master
	a.Attempt = 2
	c.beat()
	c.register(a)
	c.allocate(a, nothing())
	c.expect(`
		a runs 1.1.1
		1.1 registers:
		1.1 allocates:
		1.1 allocates: gets 1.1.2 1.1.3 1.1.4
		a runs 1.1.2
		b runs 1.1.3
		c runs 1.1.4
		RM to a: forget 1.1.1
		a runs 1.2.1
		1.2 registers: has 1.1.2 1.1.3 1.1.4
		1.2 allocates:`)

	c.cut["b"], c.cut["c"] = true, true
	c.step(books.Restarted{})
	c.allocate(a, nothing())
	c.beat()
	c.register(a)
	c.exit("c", c.runs[2], 7)
	c.cut["b"], c.cut["c"] = false, false
	c.allocate(a, nothing())
	c.beat()
	c.allocate(a, nothing())
	c.allocate(a, nothing())
	c.note("%s", c.state(a))
	c.expect(`
		1.2 allocates: ApplicationMasterNotRegisteredException
		RM to a: resync
		1.2 registers: has 1.1.2
		1.2 allocates:
		RM to b: resync
		RM to c: resync
		1.2 allocates: finds 1.1.3 ended 1.1.4 as 7
		RM to c: forget 1.1.4
		1.2 allocates:
		RUNNING, attempt 2 is RUNNING`)
}

// It would catch a release that is lost in a restart: a container that the new ResourceManager
// learns of later than of its release must end.
func TestAReleaseWaitsForTheNode(t *testing.T) {
	c := newCluster(t, books.Settings{}, "a", "b")
	a := c.submit(managed())
	c.beat()
	c.register(a)
	granted := c.work(a)
	c.transcript()
	c.step(books.Restarted{})
	c.register(a)
	c.allocate(a, &yarnpb.AllocateRequestProto{Release: []*yarnpb.ContainerIdProto{pbconv.ContainerIDProto(granted[1].ID)}})
	c.beat()
	c.allocate(a, nothing())
	c.expect(`
		1.1 registers:
		1.1 allocates:
		RM to a: resync
		RM to b: resync
		RM to b: kill 1.1.3 as ABORTED
		b ends 1.1.3
		1.1 allocates: ended 1.1.3 as ABORTED`)
}

// It would catch a master that waits for ever for the end of a container whose node has died
// together with the ResourceManager: no one tells it.
func TestNoOneKnowsOfANodeThatDiedWithTheResourceManager(t *testing.T) {
	c := newCluster(t, books.Settings{NodeExpiry: time.Minute}, "a", "b")
	a := c.submit(managed())
	c.beat()
	c.register(a)
	granted := c.work(a)
	c.transcript()
	c.step(books.Restarted{})
	c.cut["b"] = true
	c.beat()
	c.register(a)
	for range 5 {
		c.pass(30 * time.Second)
		c.beat()
		c.allocate(a, nothing())
	}
	_, known := c.rm.Container(granted[1].ID)
	c.note("1.1.3 is known: %t", known)
	c.expect(`
		RM to a: resync
		1.1 registers:
		1.1 allocates:
		1.1 allocates:
		1.1 allocates:
		1.1 allocates:
		1.1 allocates:
		1.1.3 is known: false`)
}

// It would catch a master, or containers, that outlive a ResourceManager without recovery.
func TestAResourceManagerThatHasLostItsState(t *testing.T) {
	c := newCluster(t, books.Settings{}, "a", "b")
	a := c.submit(keeping())
	c.beat()
	c.register(a)
	granted := c.work(a)
	c.transcript()
	c.step(books.StateLost{Keys: keys(20)})
	c.allocate(a, nothing())
	c.finish(a)
	c.beat()
	c.note("start of an old container: %s", c.start(granted[0]))
	again := c.submit(managed())
	c.beat()
	c.note("its id is another: %t", again.Application != a.Application)
	c.expect(`
		1.1 allocates: ApplicationAttemptNotFoundException
		1.1 finishes: InvalidApplicationMasterRequestException
		RM to a: resync
		RM to a: kill 1.1.1 as KILLED_BY_RESOURCEMANAGER
		a ends 1.1.1
		RM to a: forget 1.1.1
		RM to a: kill 1.1.2 as KILLED_BY_RESOURCEMANAGER
		a ends 1.1.2
		RM to a: forget 1.1.2
		RM to b: resync
		RM to b: kill 1.1.3 as KILLED_BY_RESOURCEMANAGER
		b ends 1.1.3
		RM to b: forget 1.1.3
		start of an old container: InvalidContainerException: Container container_1000_0001_01_000002 rejected as it is allocated by a previous RM
		a runs 1.1.1
		its id is another: true`)
}

// It would catch a NodeManager that tells of containers which only the process before it had.
func TestANodeManagerKnowsOnlyItsOwnContainers(t *testing.T) {
	c := newCluster(t, books.Settings{}, "a")
	a := c.submit(managed())
	c.beat()
	c.register(a)
	c.allocate(a, asks(1))
	c.beat()
	one := c.allocate(a, nothing())[0]
	c.start(one)
	stops := func() (stopped, refused int) {
		var response yarnpb.StopContainersResponseProto
		request := c.encode(&yarnpb.StopContainersRequestProto{ContainerId: []*yarnpb.ContainerIdProto{pbconv.ContainerIDProto(one.ID)}})
		c.class(c.tell("a", books.NodeCall{Application: a.Application, Method: "stopContainers", Request: request}), &response)
		return len(response.GetSucceededRequests()), len(response.GetFailedRequests())
	}
	c.tell("a", books.Stop{})
	c.tell("a", books.Start{})
	if stopped, refused := stops(); stopped != 0 || refused != 1 {
		t.Errorf("%d are stopped, %d refused", stopped, refused)
	}
}

// It would catch a node that refuses its masters as soon as a ResourceManager with other keys has taken over, and one
// that accepts their tokens for ever.
func TestANodeAcceptsTokensOfTheResourceManagerBefore(t *testing.T) {
	c := newCluster(t, books.Settings{}, "a")
	a := c.submit(managed())
	c.beat()
	c.register(a)
	var response yarnpb.AllocateResponseProto
	c.master(a, "allocate", asks(1), &response)
	c.beat()
	again := nothing()
	again.ResponseId = response.ResponseId
	if class := c.master(a, "allocate", again, &response); class != "" || len(response.GetNmTokens()) != 1 {
		t.Fatal(class, response.GetNmTokens())
	}
	token := response.GetNmTokens()[0].GetToken()
	for generation, accepted := range []bool{true, true, false} {
		if generation > 0 {
			c.step(books.StateLost{Keys: keys(byte(20 * generation))})
			c.beat()
		}
		password, err := c.node("a").Password(token.GetIdentifier())
		if is := err == nil && bytes.Equal(password, token.GetPassword()); is != accepted {
			t.Errorf("after %d ResourceManagers the token is accepted: %t, %v", generation, is, err)
		}
	}
}

// It would catch a master that starts a container of the previous ResourceManager and waits for it.
// Before the node's resync, the start is taken, and the new ResourceManager learns of it.
func TestAStartAroundARestart(t *testing.T) {
	c := newCluster(t, books.Settings{}, "a", "b")
	a := c.submit(managed())
	c.beat()
	c.register(a)
	c.allocate(a, asks(2))
	c.beat()
	granted := c.allocate(a, nothing())
	c.step(books.Restarted{})
	c.tell("b", books.Beat{})
	c.transcript()
	for _, one := range granted {
		c.note("%s", c.start(one))
	}
	c.register(a)
	c.allocate(a, nothing())
	for _, one := range granted {
		_, known := c.rm.Container(one.ID)
		c.note("%s is known: %t", short(one.ID), known)
	}
	c.expect(`
		a runs 1.1.2
		RM to a: resync
		started
		InvalidContainerException: Container container_1000_0001_01_000003 rejected as it is allocated by a previous RM
		1.1 registers:
		1.1 allocates:
		1.1.2 is known: true
		1.1.3 is known: false`)
}

// It would catch a master that is not told of the nodes which have come back while it was not registered.
func TestAMasterLearnsOfNodesThatCameBackBeforeIt(t *testing.T) {
	c := newCluster(t, books.Settings{}, "a", "b")
	a := c.submit(managed())
	c.beat()
	c.register(a)
	c.step(books.Restarted{})
	c.tell("b", books.Beat{})
	c.register(a)
	var response yarnpb.AllocateResponseProto
	if class := c.master(a, "allocate", nothing(), &response); class != "" {
		t.Fatal(class)
	}
	nodes := response.GetUpdatedNodes()
	if len(nodes) != 1 || nodes[0].GetNodeId().GetHost() != "b" || nodes[0].GetNodeUpdateType() != yarnpb.NodeUpdateTypeProto_NODE_USABLE {
		t.Errorf("nodes are %v", nodes)
	}
}

// It would catch a client that takes the address of a master for recorded: a ResourceManager that has restarted does
// not know it, also if the application has finished.
func TestTheAddressOfAMasterIsNotRecovered(t *testing.T) {
	for _, finished := range []bool{false, true} {
		c := newCluster(t, books.Settings{}, "a")
		a := c.submit(managed())
		c.beat()
		c.register(a)
		if finished {
			c.finish(a)
		}
		address := func() string {
			response := new(yarnpb.GetApplicationReportResponseProto)
			c.class(c.step(books.ClientCall{User: "alice", Method: "getApplicationReport", Request: c.encode(&yarnpb.GetApplicationReportRequestProto{
				ApplicationId: pbconv.ApplicationIDProto(a.Application),
			})}), response)
			return fmt.Sprintf("%s:%d", response.GetApplicationReport().GetHost(), response.GetApplicationReport().GetRpcPort())
		}
		if got := address(); got == "N/A:-1" {
			t.Errorf("finished %t: the master that has registered is at %s", finished, got)
		}
		c.step(books.Restarted{})
		if got := address(); got != "N/A:-1" {
			t.Errorf("finished %t: after a restart the master is at %s", finished, got)
		}
	}
}

// It would catch a node that keeps the end of a container to itself because an earlier ResourceManager knew
// that it would end: the next one would count on the container for ever.
func TestAContainerThatStillEndsIsReportedToTheNextResourceManager(t *testing.T) {
	c := newCluster(t, books.Settings{}, "a", "b")
	a := c.submit(managed())
	c.beat()
	c.register(a)
	granted := c.work(a)
	c.transcript()
	c.cut["b"] = true // it does not hear that it must end the container
	c.allocate(a, &yarnpb.AllocateRequestProto{Release: []*yarnpb.ContainerIdProto{pbconv.ContainerIDProto(granted[1].ID)}})
	c.allocate(a, nothing())
	c.cut["b"] = false
	c.tell("b", books.Forget{ID: granted[1].ID})
	c.step(books.Restarted{})
	c.register(a)
	c.beat()
	c.exit("b", granted[1].ID, 7)
	c.allocate(a, nothing())
	c.expect(`
		RM to b: kill 1.1.3 as ABORTED
		1.1 allocates: ended 1.1.3 as ABORTED
		RM to b: forget 1.1.3
		1.1 allocates:
		1.1 registers:
		RM to a: resync
		RM to b: resync
		1.1 allocates: ended 1.1.3 as 7`)
}
