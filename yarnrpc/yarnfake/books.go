package yarnfake

import (
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// books are what the ResourceManager knows: a pure core. Its only way in is step;
// nothing in it reads a clock, starts a goroutine or follows the order of a map.
type books struct {
	settings settings
	keys     keys
	started  int64 // the ResourceManager's, in milliseconds since 1970: its identifier
	epoch    int64 // restarts so far
	lastApp  int32
	nodes    []*node        // in the order of the configuration
	apps     []*application // by age
	tokens   delegationTokens
}

// settings are the part of a Config that the books follow.
type settings struct {
	minimum, maximum records.Resource // of a container
	configured       records.Resource // what maximum is while a node has so much; its types are all there are
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

// application is one that was submitted.
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
	failures    int          // attempts that count
	containers  []*container // of all attempts, by age, ended ones too
}

// attempt is the last one. An application that was rejected has none, for which a
// dead one stands.
func (app *application) attempt() *attempt {
	if n := len(app.attempts); n > 0 {
		return app.attempts[n-1]
	}
	return &attempt{
		id:  records.ApplicationAttemptID{Application: app.id},
		app: app, state: records.AttemptFailed, host: notAvailable, rpcPort: -1, trackingURL: notAvailable,
	}
}

// attempt is one try at running an application's master.
type attempt struct {
	id          records.ApplicationAttemptID
	app         *application
	state       records.AttemptState
	master      *container // nil: unmanaged, or without a place yet
	host        string
	rpcPort     int32
	trackingURL string
	diagnostics string
	progress    float32
	began       time.Time
	ended       time.Time

	registered bool
	finishing  bool // it has unregistered and was told so
	responseID int32
	last       *yarnpb.AllocateResponseProto // repeated to a repeated request

	asks      []*ask
	blacklist []string
	sequence  int64 // of the last container

	// What the next response brings.
	granted   []*container
	completed []*yarnpb.ContainerStatusProto
	changed   []*node
	told      map[records.NodeID]bool // nodes whose token it has
}

// live reports whether the attempt may speak to the ResourceManager.
func (a *attempt) live() bool {
	switch a.state {
	case records.AttemptFailed, records.AttemptFinished, records.AttemptKilled:
		return false
	default:
		return true
	}
}

// container is one that was granted.
type container struct {
	id          records.ContainerID
	app         *application
	owner       *attempt // who hears of its end
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

// event is what happens to the books.
//
//sumtype:decl
type event interface{ isEvent() }

type (
	// clientCall is a call of ApplicationClientProtocol.
	clientCall struct {
		user    string
		request proto.Message
	}
	// masterCall is a call of ApplicationMasterProtocol, over a connection that a
	// token of the key has logged in.
	masterCall struct {
		attempt records.ApplicationAttemptID
		keyID   int32
		request proto.Message
	}
	// nodeBeat is a NodeManager's heartbeat, when it gets work.
	nodeBeat struct{ node records.NodeID }
	// containerStarted is a NodeManager's word that it has taken a container over.
	containerStarted struct {
		id   records.ContainerID
		node records.NodeID
	}
	// containerEnded is a NodeManager's word on a container's end.
	containerEnded struct {
		id          records.ContainerID
		exit        records.ExitStatus
		diagnostics string
	}
	// containerTaken is the scheduler taking a container back.
	containerTaken struct {
		id     records.ContainerID
		exit   records.ExitStatus
		reason string
	}
	// nodeGone is a node that is lost with all that runs on it.
	nodeGone struct{ node records.NodeID }
	// nodeRestarted is a node that comes back, with nothing that ran on it, and with
	// another capability perhaps.
	nodeRestarted struct {
		node       records.NodeID
		capability records.Resource
	}
	// restarted is a new ResourceManager that has recovered applications and
	// containers, but no session.
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

// effect is what the books want done.
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
	// kill ends a container on its node, whose status is told if it runs.
	kill struct {
		node   records.NodeID
		id     records.ContainerID
		exit   records.ExitStatus
		reason string
	}
	// emptyNode ends all that runs on a lost node.
	emptyNode struct{ node records.NodeID }
)

func (answer) isEffect()    {}
func (launch) isEffect()    {}
func (kill) isEffect()      {}
func (emptyNode) isEffect() {}

// step takes one event in.
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
		if c == nil || c.state == records.ContainerComplete { // released while it was being started
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

// restart forgets what a work-preserving restart of the ResourceManager does: all
// sessions, and containers that nobody has started.
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

// release gives a container's share of its node back.
func (c *container) release() {
	c.node.used = c.node.used.Sub(c.resource)
	c.node.containers--
}
