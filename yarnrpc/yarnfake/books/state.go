package books

import (
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// node is a NodeManager as the ResourceManager sees it.
type node struct {
	id          records.NodeID
	capability  records.Resource
	used        records.Resource
	containers  int
	incarnation int
	lost        bool
	heard       time.Time
}

// application is a submitted application.
type application struct {
	id          records.ApplicationID
	user        string
	context     records.SubmissionContext
	state       records.ApplicationState
	final       records.FinalApplicationStatus
	diagnostics string
	submitted   time.Time
	launched    time.Time
	finished    time.Time
	attempts    []*attempt
	containers  []*container // of all attempts, by age, also ended ones
	changed     []*node      // for the next response to the current attempt
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
	counts      bool      // as a failure
	heard       time.Time // its launch, or its last call

	registered bool
	finishing  bool        // it has unregistered
	unrecorded finalRecord // the end that is not recorded yet
	responseID int32
	last       []byte // the answer to a repeated request; nil: none

	asks      []*ask
	blacklist []string
	sequence  int64 // of the last container

	// Contents of the next response.
	granted   []*container
	recovered []*container // of earlier attempts, reported by nodes since the registration
	completed []*container
	told      map[records.NodeID]bool // nodes whose token it has received

	sent    []*container          // the ended ones of the last response; the next request confirms them
	release []records.ContainerID // to release when a node reports them, after a restart
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
	asked       []askedPlace // of the ask that it was granted for
	master      bool
	counted     bool // its resources are in use on its node
	known       bool // its node may forget it after its end
	state       records.ContainerState
	exit        records.ExitStatus
	diagnostics string
	created     time.Time
	finished    time.Time
}

// release returns a container's resources to its node.
func (c *container) release() {
	if c.counted {
		c.counted = false
		c.node.used = c.node.used.Sub(c.resource)
		c.node.containers--
	}
}

// occupy takes a container's resources on its node.
func (c *container) occupy() {
	c.counted = true
	c.node.used = c.node.used.Add(c.resource)
	c.node.containers++
}
