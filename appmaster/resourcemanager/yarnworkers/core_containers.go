package yarnworkers

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// checkTimeout is how long a container with a silent worker is checked: longer than the
// ResourceManager waits for its reconnection.
const checkTimeout = 5 * time.Second

type containerState int

const (
	waiting  containerState = iota + 1 // its start is in startQueue
	starting                           // the start call to its node is under way
	running                            // its node has accepted it
	released                           // released while it was starting
	ended                              // it ended while it was starting, as YARN has told
)

// container is the container of a worker. It exists from its allocation, or from when YARN has listed it as one of
// an earlier attempt, until it has ended or is released, and no start call is under way.
type container struct {
	records.Container
	spec  resourcemanager.WorkerResourceSpec // of its worker; zero: not known, of an earlier attempt
	state containerState
	noted bool // users may ask how its worker starts
	// checkUntil is when checks end, and nextCheck is when the next check is due (zero: the answer
	// to a check has not come yet).
	checkUntil, nextCheck time.Time
}

// sizedBy is what decides the size of the container; "" if it is not known.
func (k *container) sizedBy() string {
	if k.spec == (resourcemanager.WorkerResourceSpec{}) {
		return ""
	}
	return k.spec.Memory.SizedBy()
}

// worker is the id of the worker in a container.
func worker(id records.ContainerID) ids.ResourceID { return ids.ResourceID(id.String()) }

// take makes a worker of a new container. It releases the container if no worker is missing, or if
// the container is too small.
func (c *core) take(k records.Container) {
	p := c.byPriority(k.Priority)
	if p == nil || p.missing() == 0 {
		c.giveBack([]records.Container{k})
		return
	}
	if c.tooSmall(p, k.Resource) {
		c.giveBack([]records.Container{k})
		c.refuse(p, fmt.Sprintf("YARN gives containers of %s, and workers need %s; %s",
			inWords(k.Resource), inWords(c.capability(p)), p.smaller()))
		return
	}
	c.taken(p)
	p.starts++
	p.given = c.now
	c.waits = append(c.waits, p.orders.take(c.now))
	c.containers[worker(k.ID)] = &container{Container: k, spec: p.spec, state: waiting, noted: c.given < resourcemanager.NotedWorkers}
	c.given++
	c.occupy(k, true)
	c.events = append(c.events, resourcemanager.WorkerStarting{Worker: worker(k.ID), Spec: p.spec, Host: k.Node.Host})
	c.startQueue = append(c.startQueue, worker(k.ID)) // see sendWaiting
}

// occupy updates the free room of a node for a container of this application.
func (c *core) occupy(k records.Container, taken bool) {
	n, known := c.nodes[k.Node]
	if !known {
		return
	}
	if taken {
		n.Free = n.Free.Sub(k.Resource)
	} else {
		n.Free = n.Free.Add(k.Resource)
	}
	c.nodes[k.Node] = n
}

func (c *core) containerStarted(e containerStarted) {
	k := c.containers[worker(e.id)]
	switch {
	case k.state == released, k.state == ended:
		// If a node learns of the end of a container before it gets the start call, it starts the
		// container anyway, and YARN leaves it running until the application ends.
		c.forget(k)
		if e.err == nil || yarnrpc.MaybeSent(e.err) {
			c.stop(stopContainer{id: k.ID, node: k.Node})
		}
	case errors.Is(e.err, errLate):
		k.state = waiting
		c.startQueue = append(c.startQueue, worker(e.id)) // see news
	case e.err != nil:
		c.forget(k)
		c.giveBack([]records.Container{k.Container})
		c.events = append(c.events, resourcemanager.WorkerFailed{Worker: worker(e.id), Cause: e.err.Error()})
		if yarnrpc.MaybeSent(e.err) { // see above
			c.stop(stopContainer{id: k.ID, node: k.Node})
		}
	default:
		k.state = running
		if k.noted {
			c.events = append(c.events, resourcemanager.WorkerLaunched{Worker: worker(e.id)})
		}
	}
}

// releaseWorker releases a container, and has its node stop it. If the start call is under way, the
// stop follows its answer.
func (c *core) releaseWorker(id ids.ResourceID) {
	k := c.containers[id]
	switch {
	case k == nil:
		c.releaseUnlisted(id)
		return
	case k.state == released, k.state == ended:
		return
	}
	c.release = append(c.release, k.ID)
	switch k.state {
	case waiting:
		c.forget(k)
	case starting:
		k.state = released
	default:
		c.forget(k)
		c.stop(stopContainer{id: k.ID, node: k.Node})
	}
}

// stop stops a container once this attempt is confirmed.
func (c *core) stop(s stopContainer) {
	if !c.confirmed() {
		c.stopQueue = append(c.stopQueue, s)
		return
	}
	c.stopping++
	s.by = c.confirmedUntil()
	c.emit(s)
}

func (c *core) containerStopped(e containerStopped) {
	c.stopping--
	if e.late {
		c.stop(stopContainer{id: e.id, node: e.node})
	}
}

// completed handles the end of a container. It is not reported if the container was released. Containers of earlier
// attempts are not known if YARN has not listed them; the ResourceManager may know their workers.
func (c *core) completed(s records.ContainerStatus) {
	k := c.containers[worker(s.ID)]
	switch {
	case k == nil && c.isPrevious(s.ID):
		c.events = append(c.events, resourcemanager.WorkerCompleted{Worker: worker(s.ID), Cause: completionCause(s, "")})
		return
	case k == nil, k.state == ended:
		return
	}
	if k.state != released {
		c.events = append(c.events, resourcemanager.WorkerCompleted{Worker: worker(s.ID), Cause: completionCause(s, k.sizedBy())})
	}
	if k.state == running || k.state == waiting {
		c.forget(k)
		return
	}
	c.occupy(k.Container, false)
	k.state = ended // the answer to its start removes it
}

func (c *core) forget(k *container) {
	delete(c.containers, worker(k.ID))
	c.checking = slices.DeleteFunc(c.checking, func(other *container) bool { return other == k })
	if k.state != ended {
		c.occupy(k.Container, false)
	}
}

// watch starts the checks of a container with a silent worker. It also sends a heartbeat at once,
// because YARN may know more, for example that the whole application was killed.
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

// check sends the checks that are due.
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
