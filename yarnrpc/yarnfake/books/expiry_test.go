package books_test

import (
	"testing"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/yarnfake/books"
)

// It would catch a master that freezes, and whose application then waits for ever: the attempt
// must fail, its container must be killed, and a next attempt must start, but only as many as are
// allowed. The time from the launch to the registration counts, too.
func TestASilentMasterIsReplaced(t *testing.T) {
	c := newCluster(t, books.Settings{MasterExpiry: 10 * time.Second}, "a")
	first := c.submit(managed())
	second := first
	second.Attempt = 2
	c.beat()
	c.register(first)
	c.pass(9 * time.Second)
	c.allocate(first, nothing())
	c.pass(9 * time.Second)
	c.expect(`
		a runs 1.1.1
		1.1 registers:
		1.1 allocates:`)
	c.pass(2 * time.Second)
	c.allocate(first, nothing())
	c.beat()
	c.note("%s", c.state(first))
	c.pass(10 * time.Second) // it never registers
	c.allocate(second, nothing())
	c.note("%s", c.state(first))
	c.expect(`
		RM to a: kill 1.1.1 as KILLED_BY_APPMASTER
		a ends 1.1.1
		RM to a: forget 1.1.1
		1.1 allocates: ApplicationAttemptNotFoundException
		a runs 1.2.1
		ACCEPTED, attempt 2 is LAUNCHED
		RM to a: kill 1.2.1 as KILLED_AFTER_APP_COMPLETION
		a ends 1.2.1
		RM to a: forget 1.2.1
		1.2 allocates: ApplicationAttemptNotFoundException
		FAILED, attempt 2 is FAILED`)
}

// It would catch an application that runs for weeks and fails at its second failure, although the
// first is long past.
func TestOldFailuresDoNotCount(t *testing.T) {
	c := newCluster(t, books.Settings{}, "a")
	p := managed()
	validity := int64(60_000)
	p.AttemptFailuresValidityInterval = &validity
	a := c.submit(p)
	fail := func() {
		c.beat()
		c.exit("a", c.runs[0], 1)
		c.note("%s", c.state(a))
	}
	fail()
	c.pass(time.Minute)
	fail()
	c.pass(time.Second)
	fail()
	c.expect(`
		a runs 1.1.1
		RM to a: forget 1.1.1
		ACCEPTED, attempt 2 is SCHEDULED
		a runs 1.2.1
		RM to a: forget 1.2.1
		ACCEPTED, attempt 3 is SCHEDULED
		a runs 1.3.1
		RM to a: forget 1.3.1
		FAILED, attempt 3 is FAILED`)
}

// It would catch a master that has unregistered and hangs: its container would keep its resources.
func TestAMasterThatDoesNotExitIsKilled(t *testing.T) {
	c := newCluster(t, books.Settings{MasterExpiry: 10 * time.Second}, "a")
	a := c.submit(managed())
	c.beat()
	c.register(a)
	c.finish(a)
	c.pass(10 * time.Second)
	c.note("%s", c.state(a))
	c.expect(`
		a runs 1.1.1
		1.1 registers:
		1.1 finishes: false
		RM to a: kill 1.1.1 as KILLED_AFTER_APP_COMPLETION
		a ends 1.1.1
		RM to a: forget 1.1.1
		FINISHED, attempt 1 is FINISHED`)
}

// It would catch containers on a dead node that count as running for ever, and a node that returns
// with containers that its master has already replaced.
func TestASilentNodeIsLostAndReturns(t *testing.T) {
	c := newCluster(t, books.Settings{NodeExpiry: 10 * time.Second}, "a", "b")
	a := c.submit(managed())
	c.beat()
	c.register(a)
	c.work(a)
	c.expect(`
		a runs 1.1.1
		1.1 registers:
		1.1 allocates:
		1.1 allocates: gets 1.1.2 1.1.3
		a runs 1.1.2
		b runs 1.1.3`)
	c.cut["b"] = true
	c.pass(6 * time.Second)
	c.beat()
	c.pass(6 * time.Second)
	c.beat()
	c.allocate(a, nothing())
	c.allocate(a, nothing())
	c.cut["b"] = false
	c.beat()
	for _, n := range c.rm.Nodes() {
		c.note("%s lost: %t, %s used", n.ID.Host, n.Lost, n.Used)
	}
	c.expect(`
		1.1 allocates: ended 1.1.3 as ABORTED
		RM to b: forget 1.1.3
		1.1 allocates:
		RM to b: resync
		RM to b: kill 1.1.3 as ABORTED
		b ends 1.1.3
		RM to b: forget 1.1.3
		a lost: false, <memory:200, vCores:2> used
		b lost: false, <memory:0, vCores:0> used`)
}

// It would catch a node that restarts within the time and whose containers count as running.
func TestANodeThatRestartsHasLostItsContainers(t *testing.T) {
	c := newCluster(t, books.Settings{}, "a", "b")
	a := c.submit(managed())
	c.beat()
	c.register(a)
	c.work(a)
	c.transcript()
	c.cut["b"] = true
	c.tell("b", books.Stop{})
	c.cut["b"] = false
	c.tell("b", books.Start{})
	c.allocate(a, nothing())
	c.expect(`
		b ends 1.1.3
		1.1 allocates: ended 1.1.3 as ABORTED`)
}

// It would catch a grant that is lost with its node before any answer has carried it: the master does not know
// of it and asks for no other container.
func TestAnAskStandsAgainIfItsGrantIsLostUnseen(t *testing.T) {
	c := newCluster(t, books.Settings{}, "a", "b")
	a := c.submit(managed())
	c.beat()
	c.register(a)
	c.allocate(a, asks(2))
	c.beat() // one container on each node
	c.tell("b", books.Stop{})
	c.tell("b", books.Start{})
	c.transcript()
	c.allocate(a, nothing())
	c.beat()
	c.allocate(a, nothing())
	c.expect(`
		1.1 allocates: gets 1.1.2 ended 1.1.3 as ABORTED
		RM to b: forget 1.1.3
		1.1 allocates: gets 1.1.4`)
}
