package yarnfake

import (
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// books is the state of the ResourceManager: a pure core. Only step changes it. It reads
// no clock, starts no goroutine, and does not depend on the order of a map.
type books struct {
	settings settings
	keys     keys
	started  int64 // start of the ResourceManager in milliseconds since 1970: its identifier
	epoch    int64 // restarts so far
	lastApp  int32
	nodes    []*node        // in the order of the configuration
	apps     []*application // by age
	tokens   delegationTokens
}

// settings is the part of a Config that the books use.
type settings struct {
	minimum, maximum records.Resource // of a container
	configured       records.Resource // the configured maximum, with the cluster's resource types; maximum is less if no node has as much
	maxAttempts      int
	clientTokens     bool
}

// node is a NodeManager as the ResourceManager sees it.
type node struct {
	id         records.NodeID
	capability records.Resource
	used       records.Resource
	containers int
	lost       bool
	heard      time.Time
}

// application is a submitted application.
type application struct {
	id          records.ApplicationID
	user        string
	context     *yarnpb.ApplicationSubmissionContextProto
	state       records.ApplicationState
	final       records.FinalApplicationStatus
	diagnostics string
	submitted   time.Time
	launched    time.Time
	finished    time.Time
	attempts    []*attempt
	failures    int          // failed attempts that count
	containers  []*container // of all attempts, by age, also ended ones
}

// attempt returns the last attempt. A rejected application has none; for it, attempt
// returns a dead one.
func (app *application) attempt() *attempt {
	if n := len(app.attempts); n > 0 {
		return app.attempts[n-1]
	}
	return &attempt{
		id:  records.ApplicationAttemptID{Application: app.id},
		app: app, state: records.AttemptFailed, host: notAvailable, rpcPort: -1, trackingURL: notAvailable,
	}
}

// attempt is one attempt of an application.
type attempt struct {
	id          records.ApplicationAttemptID
	app         *application
	state       records.AttemptState
	master      *container // nil: unmanaged, or not placed yet
	host        string
	rpcPort     int32
	trackingURL string
	diagnostics string
	progress    float32
	began       time.Time
	ended       time.Time

	registered bool
	finishing  bool // it has unregistered, and the answer has confirmed it
	responseID int32
	last       *yarnpb.AllocateResponseProto // the answer to a repeated request

	asks      []*ask
	blacklist []string
	sequence  int64 // of the last container

	// Contents of the next response.
	granted   []*container
	completed []*yarnpb.ContainerStatusProto
	changed   []*node
	told      map[records.NodeID]bool // nodes whose token it has received
}

// live reports whether the ResourceManager accepts calls of the attempt.
func (a *attempt) live() bool {
	switch a.state {
	case records.AttemptFailed, records.AttemptFinished, records.AttemptKilled:
		return false
	default:
		return true
	}
}

// container is a granted container.
type container struct {
	id          records.ContainerID
	app         *application
	owner       *attempt // the attempt that gets its status
	node        *node
	resource    records.Resource
	priority    records.Priority
	requestID   int64
	master      bool
	state       records.ContainerState
	exit        records.ExitStatus
	diagnostics string
	created     time.Time
	finished    time.Time
}

// event is an input of the books.
//
//sumtype:decl
type event interface{ isEvent() }

type (
	// clientCall is a call of ApplicationClientProtocol.
	clientCall struct {
		user    string
		request proto.Message
	}
	// masterCall is a call of ApplicationMasterProtocol. A token made with the key has
	// logged in its connection.
	masterCall struct {
		attempt records.ApplicationAttemptID
		keyID   int32
		request proto.Message
	}
	// nodeBeat is a NodeManager's heartbeat. The node gets containers then.
	nodeBeat struct{ node records.NodeID }
	// containerStarted is a NodeManager's report that it has taken over a container.
	containerStarted struct {
		id   records.ContainerID
		node records.NodeID
	}
	// containerEnded is a NodeManager's report of a container's end.
	containerEnded struct {
		id          records.ContainerID
		exit        records.ExitStatus
		diagnostics string
	}
	// containerTaken says that the scheduler takes a container back.
	containerTaken struct {
		id     records.ContainerID
		exit   records.ExitStatus
		reason string
	}
	// nodeGone says that a node is lost, with all its containers.
	nodeGone struct{ node records.NodeID }
	// nodeRestarted says that a node has returned without its containers, and perhaps
	// with another capability.
	nodeRestarted struct {
		node       records.NodeID
		capability records.Resource
	}
	// restarted says that a new ResourceManager has recovered applications and
	// containers, but no registrations.
	restarted struct{}
	// keyRolled brings a new key for AMRM tokens.
	keyRolled struct{ key key }
)

func (clientCall) isEvent()       {}
func (masterCall) isEvent()       {}
func (nodeBeat) isEvent()         {}
func (containerStarted) isEvent() {}
func (containerEnded) isEvent()   {}
func (containerTaken) isEvent()   {}
func (nodeGone) isEvent()         {}
func (nodeRestarted) isEvent()    {}
func (restarted) isEvent()        {}
func (keyRolled) isEvent()        {}

// effect is an output of the books.
//
//sumtype:decl
type effect interface{ isEffect() }

type (
	// answer goes to the caller; every call has exactly one.
	answer struct {
		message proto.Message
		err     error
	}
	// launch starts an ApplicationMaster.
	launch struct {
		node    records.NodeID
		request *yarnpb.StartContainerRequestProto
	}
	// kill ends a container on its node. The node reports the status if the container
	// runs.
	kill struct {
		node   records.NodeID
		id     records.ContainerID
		exit   records.ExitStatus
		reason string
	}
	// emptyNode ends all containers on a lost node.
	emptyNode struct{ node records.NodeID }
)

func (answer) isEffect()    {}
func (launch) isEffect()    {}
func (kill) isEffect()      {}
func (emptyNode) isEffect() {}

// step handles one event.
func (b *books) step(now time.Time, e event) []effect {
	switch e := e.(type) {
	case clientCall:
		message, effects, err := b.client(now, e)
		return append(effects, answer{message, err})
	case masterCall:
		message, effects, err := b.masterCall(now, e)
		return append(effects, answer{message, err})
	case nodeBeat:
		return b.beat(now, e.node)
	case containerStarted:
		c := b.container(e.id)
		if c == nil || c.state == records.ContainerComplete { // released during its start
			return []effect{kill{node: e.node, id: e.id, exit: records.ExitAborted, reason: "Container released by application"}}
		}
		c.state = records.ContainerRunning
		return nil
	case containerEnded:
		if c := b.container(e.id); c != nil {
			return b.end(now, c, e.exit, e.diagnostics)
		}
		return nil
	case containerTaken:
		if c := b.container(e.id); c != nil {
			return b.stop(now, c, e.exit, e.reason)
		}
		return nil
	case nodeGone:
		return b.lose(now, e.node)
	case nodeRestarted:
		return b.restartNode(now, e.node, e.capability)
	case restarted:
		return b.restart(now)
	case keyRolled:
		b.keys.roll(e.key)
		return nil
	}
	return nil
}

func (b *books) node(id records.NodeID) *node {
	for _, n := range b.nodes {
		if n.id == id {
			return n
		}
	}
	return nil
}

func (b *books) app(id records.ApplicationID) *application {
	for _, a := range b.apps {
		if a.id == id {
			return a
		}
	}
	return nil
}

func (b *books) attempt(id records.ApplicationAttemptID) *attempt {
	if app := b.app(id.Application); app != nil && 0 < id.Attempt && int(id.Attempt) <= len(app.attempts) {
		return app.attempts[id.Attempt-1]
	}
	return nil
}

func (b *books) container(id records.ContainerID) *container {
	app := b.app(id.Attempt.Application)
	if app == nil {
		return nil
	}
	i := slices.IndexFunc(app.containers, func(c *container) bool { return c.id == id })
	if i < 0 {
		return nil
	}
	return app.containers[i]
}

// restart forgets what a ResourceManager forgets in a work-preserving restart: all
// registrations, and containers that were not started.
func (b *books) restart(now time.Time) []effect {
	b.epoch++
	b.started, b.lastApp = now.UnixMilli(), 0
	for _, app := range b.apps {
		a := app.attempt()
		// NodeManagers report an end until the master has acknowledged it.
		a.completed = append(slices.Clone(a.last.GetCompletedContainerStatuses()), a.completed...)
		a.registered, a.responseID, a.last = false, 0, nil
		a.asks, a.blacklist, a.granted, a.changed = nil, nil, nil, nil
		a.told = make(map[records.NodeID]bool)
		a.sequence = 0
		app.containers = slices.DeleteFunc(app.containers, func(c *container) bool {
			unknown := c.state == records.ContainerNew && !c.master
			if unknown {
				c.release()
			}
			return unknown
		})
	}
	return nil
}

// release returns a container's resources to its node.
func (c *container) release() {
	c.node.used = c.node.used.Sub(c.resource)
	c.node.containers--
}
