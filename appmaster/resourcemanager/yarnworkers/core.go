package yarnworkers

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/patience"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager/blocklist"
	"github.com/bobbin-yarn/bobbin/internal/actor"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/yarnrpc/amrm"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// core decides what to request from YARN and when, and tracks the containers.
//
// Only one allocate is sent at a time. After its answer, the next one goes out at once if there is
// news, after the request interval while containers are outstanding, and after the heartbeat
// interval otherwise.
type core struct {
	heartbeat       time.Duration
	requestInterval time.Duration
	place           launch.WorkerPlace
	attempt         records.ApplicationAttemptID // this one
	keepPrevious    bool                         // containers of earlier attempts go on

	registered bool
	gone       bool             // YARN has given up this attempt: do nothing
	maximum    records.Resource // at the registration, zero: not known; it may have changed since
	largest    bool             // maximum was told as YARN's largest container
	queue      string
	// countsCores says that YARN's scheduler counts cores, not only memory.
	countsCores bool
	headroom    records.Resource // of the last answer: what YARN has left for the user in the queue
	nodes       map[records.NodeID]node
	profiles    []*profile // the profile with priority p is at p-1
	trial       []*profile // to be requested alone, one after the other: see asksRefused
	containers  map[ids.ResourceID]*container
	given       int // WorkerStarting events so far

	nodesListed bool // KnowNodes has given the whole list
	nodesNews   bool // nodes has changed since NodesChanged was reported
	// toldOf are the nodes of which YARN has told before KnowNodes, whose list is older; nil after it.
	toldOf  map[records.NodeID]bool
	avoid   []string // Orders.Avoid
	avoided []string // the list that YARN has

	release  []records.ContainerID // to send with the next allocate
	inFlight bool
	failures int       // of allocate, in a row
	sent     time.Time // when the last allocate was sent
	nextBeat time.Time
	retryAt  time.Time // after a failure, no allocate before this time

	// For confirmed:
	current time.Time // when the last call was sent that YARN has answered: the attempt was the current one then, or later
	resumed time.Time // when the process went on after it was last stopped

	confirming  bool      // the shell looks whether a later attempt leads
	confirmNext time.Time // it does not look again before

	startQueue []ids.ResourceID // containers to start once confirmed
	stopQueue  []stopContainer  // to send once confirmed
	stopping   int              // stops under way
	checking   []*container
	finish     *finishAsked // requested, and not started yet
	finishBy   time.Time    // when it starts at the latest
	finishing  *finishAsked
	alarm      time.Time // when the next deadline passes; zero: never

	// During a step:
	now     time.Time
	effects []effect
	events  []resourcemanager.WorkerEvent
	starts  []start
	waits   []time.Duration // for the containers that came: see noteWaits
}

func newCore(config Config) *core {
	return &core{
		heartbeat: config.Heartbeat, requestInterval: config.RequestInterval, place: config.Place,
		attempt: config.Attempt, keepPrevious: config.KeepPrevious,
		nodes:      make(map[records.NodeID]node),
		toldOf:     make(map[records.NodeID]bool),
		containers: make(map[ids.ResourceID]*container),
	}
}

// Step handles one event and returns the effects to perform, in order. Once YARN has given up this
// attempt, events change nothing: containers and application belong to the next attempt.
func (c *core) Step(now time.Time, e event) []effect {
	c.now, c.effects, c.events, c.starts, c.waits = now, nil, nil, nil, nil
	if c.gone {
		return nil
	}
	if patience.Late(now, c.alarm) > 0 {
		c.resumed = now
	}
	switch e := e.(type) {
	case registered:
		c.register(e)
	case nodesKnown:
		c.knowNodes(e.nodes)
	case ordered:
		c.order(e.orders)
	case allocated:
		c.inFlight = false
		if e.err != nil {
			c.allocateFailed(e.err)
		} else {
			c.allocateAnswered(e.response)
		}
	case containerStarted:
		c.containerStarted(e)
	case containerStopped:
		c.containerStopped(e)
	case containerChecked:
		c.containerChecked(e)
	case confirmed:
		c.haveConfirmed(e.err)
	case finishAsked:
		c.finish, c.finishBy = &e, c.now.Add(c.trust())
	case finished:
		c.emit(reply{c.finishing.question.Answer(e.err)})
	case woken: // the step looks for deadlines that have passed
	}
	if c.registered && !c.gone {
		c.expireRefusals()
		c.refuseUnknown()
		c.skipTrials()
		c.check()
		c.tellNodes()
		c.tellRoom()
		c.beat()
		c.confirm()
	}
	c.alarm = c.nextDue()
	return c.assemble()
}

// Alarm is when the core wants to be woken next; zero: never.
func (c *core) Alarm() time.Time { return c.alarm }

func (c *core) emit(e effect) { c.effects = append(c.effects, e) }

// assemble puts the report first, so that the ResourceManager knows a worker before it starts.
func (c *core) assemble() []effect {
	var effects []effect
	if len(c.events) > 0 {
		effects = append(effects, report{c.events})
	}
	if len(c.starts) > 0 {
		effects = append(effects, startContainers{c.starts})
	}
	if len(c.waits) > 0 {
		effects = append(effects, noteWaits{c.waits})
	}
	return append(effects, c.effects...)
}

func (c *core) register(e registered) {
	r := e.registration
	c.registered = true
	c.maximum, c.queue, c.countsCores = r.Maximum, r.Queue, r.CPUScheduled
	c.current = e.sent
	c.nextBeat = c.now.Add(c.heartbeat)
	answered := c.maximum.MemoryMB > 0 // otherwise the answer is lost, with the list of containers
	if previous := c.takePrevious(r.PreviousContainers); answered || len(previous) > 0 {
		c.events = append(c.events, resourcemanager.PreviousWorkers{Workers: previous})
	}
	if answered {
		c.largest = true
		c.emit(tellLargest{c.maximum})
	}
}

// giveBack releases containers that nobody requested.
func (c *core) giveBack(containers []records.Container) {
	for _, container := range containers {
		c.release = append(c.release, container.ID)
	}
}

func (c *core) order(o resourcemanager.Orders) {
	for _, w := range o.Workers {
		p := c.profile(w.Spec)
		p.total = w.Total
		p.orders.set(c.now, p.missing())
	}
	for _, r := range o.Release {
		c.releaseWorker(r.Worker)
	}
	for _, id := range o.Check {
		c.watch(id)
	}
	c.avoid = o.Avoid
}

func (c *core) allocateFailed(err error) {
	if errors.Is(err, amrm.ErrAttemptGone) {
		c.gone = true
		c.emit(fail{err})
		return
	}
	if c.isRefusalOfAsks(err) {
		c.asksRefused(err)
	}
	if hasLooked(err) {
		c.current = c.sent
		c.sendWaiting()
	}
	wait := min(c.requestInterval<<min(c.failures, 16), c.heartbeat)
	c.failures++
	c.retryAt = c.now.Add(wait)
	c.nextBeat = c.now
}

func (c *core) allocateAnswered(r amrm.Response) {
	c.failures = 0
	c.current = c.sent
	c.headroom = r.Headroom
	c.requestsTaken()
	c.stand(r)
	c.doubtLargest(r)
	c.updateNodes(r.UpdatedNodes)
	c.reconsider(r)
	if previous := c.takePrevious(r.PreviousContainers); len(previous) > 0 {
		c.events = append(c.events, resourcemanager.PreviousWorkers{Workers: previous})
	}
	for _, container := range r.Allocated {
		if p := c.byPriority(container.Priority); p != nil {
			p.asked--
		}
		c.take(container)
	}
	for _, container := range r.Surplus {
		c.take(container)
	}
	for _, rejection := range r.Rejected {
		if p := c.byPriority(rejection.Key.Priority); p != nil {
			p.asked -= rejection.Count
			c.refuse(p, fmt.Sprintf("YARN finds no place for workers under the constraint %s (%s): %s",
				c.place.Constraint, config.YarnWorkerPlacement, rejection.Reason))
		}
	}
	for _, status := range r.Completed {
		c.completed(status)
	}
	c.sendWaiting()
	c.nextBeat = c.now.Add(c.heartbeat)
	if slices.ContainsFunc(c.profiles, func(p *profile) bool { return p.asked > 0 }) {
		c.nextBeat = c.now.Add(c.requestInterval)
	}
}

// beat sends an allocate, or the end of the application, if it is time.
func (c *core) beat() {
	switch {
	case c.finishing != nil:
	case c.finish != nil && !c.inFlight && c.mayFinish():
		c.finishing, c.finish = c.finish, nil
		c.emit(finish{status: c.finishing.status, diagnostics: c.finishing.diagnostics})
	case c.inFlight:
	case c.now.Before(c.retryAt):
	case c.news() || !c.now.Before(c.nextBeat):
		c.allocate()
	}
}

// news tells whether there is something to send that should not wait.
func (c *core) news() bool {
	return len(c.release) > 0 || len(c.startQueue) > 0 || len(c.stopQueue) > 0 || !slices.Equal(c.avoid, c.avoided) ||
		slices.ContainsFunc(c.profiles, func(p *profile) bool { return c.wanted(p) != p.asked })
}

func (c *core) allocate() {
	a := allocate{release: c.release}
	a.avoid, a.dontAvoid = blocklist.Changes(c.avoided, c.avoid)
	c.avoided = c.avoid
	elsewhere := len(a.avoid) > 0 || len(a.dontAvoid) > 0
	for _, p := range c.profiles {
		if want := c.wanted(p); want != p.asked || elsewhere && want > 0 {
			p.asked, p.sent = want, true
			c.ask(&a, p)
		}
	}
	c.release = nil
	c.inFlight, c.sent = true, c.now
	c.emit(a)
}

// nextDue is when the next deadline passes: the next allocate, the next look at who leads, the end of the
// application, the end of a refusal, or the next check of a container.
func (c *core) nextDue() time.Time {
	if !c.registered || c.gone || c.finishing != nil {
		return time.Time{}
	}
	var next time.Time
	if !c.inFlight { // otherwise wait for its answer
		next = c.nextBeat
		if next.Before(c.retryAt) {
			next = c.retryAt
		}
		if c.finish != nil {
			next = actor.Earliest(next, c.finishBy)
		}
	}
	if !c.confirming {
		next = actor.Earliest(next, c.confirmDue())
	}
	for _, p := range c.profiles {
		next = actor.Earliest(next, p.refusedUntil)
	}
	for _, k := range c.checking {
		next = actor.Earliest(next, k.nextCheck)
	}
	return next
}
