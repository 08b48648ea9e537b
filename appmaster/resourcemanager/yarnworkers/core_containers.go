package yarnworkers

import (
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// checkTimeout is how long a container whose worker is silent is looked at: more
// than the ResourceManager waits for it to come back.
const checkTimeout = 5 * time.Second

type containerState int

const (
	starting containerState = iota + 1 // its node is being told to start it
	running                            // its node has taken it over
	released                           // given up while it was starting
	ended                              // likewise, and YARN has told its end
)

// container is a worker's, from its allocation until it has ended or is given
// up, and its node is not being told to start it any more.
type container struct {
	records.Container
	state containerState
	// While it is looked at: until when, and when next (zero: the answer to the
	// last look is on its way).
	checkUntil, nextCheck time.Time
}

// worker names a container's worker.
func worker(id records.ContainerID) ids.ResourceID { return ids.ResourceID(id.String()) }

// take makes a worker of a new container, or gives it back when none is missing, or it
// is too small for one.
func (c *core) take(k records.Container) {
	p := c.byPriority(k.Priority)
	if p == nil || p.missing() == 0 {
		c.giveBack([]records.Container{k})
		return
	}
	if c.tooSmall(p, k.Resource) {
		c.giveBack([]records.Container{k})
		c.refuse(p, fmt.Sprintf("YARN gives containers of %s, and workers need %s; %s",
			inWords(k.Resource), inWords(c.capability(p)), smallerWorkers))
		return
	}
	c.taken(p)
	p.starts++
	c.containers[worker(k.ID)] = &container{Container: k, state: starting}
	c.occupy(k, true)
	c.events = append(c.events, resourcemanager.WorkerStarting{Worker: worker(k.ID), Host: k.Node.Host})
	c.starts = append(c.starts, start{container: k, spec: p.spec})
}

// occupy keeps account of the room on a node as far as it is ours.
func (c *core) occupy(k records.Container, taken bool) {
	node, known := c.nodes[k.Node]
	if !known {
		return
	}
	if taken {
		node.Free = node.Free.Sub(k.Resource)
	} else {
		node.Free = node.Free.Add(k.Resource)
	}
	c.nodes[k.Node] = node
}

func (c *core) containerStarted(e containerStarted) {
	k := c.containers[worker(e.id)]
	switch {
	case k.state == released, k.state == ended:
		// A node that hears of the end before it hears of the container starts it
		// nevertheless, and YARN leaves it running until the application ends.
		c.forget(k)
		if e.err == nil || yarnrpc.MaybeSent(e.err) {
			c.stop(stopContainer{id: k.ID, node: k.Node})
		}
	case e.err != nil:
		c.forget(k)
		c.giveBack([]records.Container{k.Container})
		c.events = append(c.events, resourcemanager.WorkerFailed{Worker: worker(e.id), Cause: e.err.Error()})
		if yarnrpc.MaybeSent(e.err) { // see above
			c.stop(stopContainer{id: k.ID, node: k.Node})
		}
	default:
		k.state = running
	}
}

// releaseWorker gives a container back, and has its node stop it. One that is
// just being started is stopped when that is done.
func (c *core) releaseWorker(id ids.ResourceID) {
	k := c.containers[id]
	if k == nil || k.state == released || k.state == ended {
		return
	}
	c.release = append(c.release, k.ID)
	if k.state == starting {
		k.state = released
		return
	}
	c.forget(k)
	c.stop(stopContainer{id: k.ID, node: k.Node})
}

// stop stops a container, provided that it is known to be ours still. Otherwise
// YARN is asked first.
func (c *core) stop(s stopContainer) {
	if !c.confirmed() {
		c.stopQueue = append(c.stopQueue, s)
		return
	}
	c.stopping++
	c.emit(s)
}

// completed takes in how a container has ended. Of one that was given up nobody
// wants to hear.
func (c *core) completed(s records.ContainerStatus) {
	k := c.containers[worker(s.ID)]
	if k == nil || k.state == ended {
		return
	}
	if k.state != released {
		c.events = append(c.events, resourcemanager.WorkerCompleted{Worker: worker(s.ID), Cause: completionCause(s)})
	}
	if k.state == running {
		c.forget(k)
		return
	}
	c.occupy(k.Container, false)
	k.state = ended // and forgotten with the answer to its start
}

func (c *core) forget(k *container) {
	delete(c.containers, worker(k.ID))
	c.checking = slices.DeleteFunc(c.checking, func(other *container) bool { return other == k })
	if k.state != ended {
		c.occupy(k.Container, false)
	}
}

// watch begins to look at a container whose worker is silent, and hears at once
// what YARN knows: perhaps that the whole application was killed.
func (c *core) watch(id ids.ResourceID) {
	k := c.containers[id]
	if k == nil || k.state != running {
		return
	}
	if k.checkUntil.IsZero() {
		k.nextCheck = c.now
		c.checking = append(c.checking, k)
	}
	k.checkUntil = c.now.Add(checkTimeout)
	c.nextBeat = c.now
}

// check looks at the containers that are due.
func (c *core) check() {
	for _, k := range c.checking {
		if !k.nextCheck.IsZero() && !c.now.Before(k.nextCheck) {
			k.nextCheck = time.Time{}
			c.emit(checkContainer{id: k.ID, node: k.Node})
		}
	}
}

func (c *core) containerChecked(e containerChecked) {
	k := c.containers[worker(e.id)]
	switch {
	case k == nil || k.checkUntil.IsZero():
	case e.status.State == records.ContainerComplete:
		c.completed(e.status)
	case c.now.Before(k.checkUntil):
		k.nextCheck = c.now.Add(c.requestInterval)
	default:
		k.checkUntil = time.Time{}
		c.checking = slices.DeleteFunc(c.checking, func(other *container) bool { return other == k })
	}
}
