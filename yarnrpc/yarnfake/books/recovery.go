package books

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// restart forgets what a ResourceManager forgets in a work-preserving restart: nodes, containers,
// registrations, and an end that it has not recorded. The applications and the number of their
// attempts remain. Nodes then report their containers (recover), and masters register again.
func (b *ResourceManager) restart(now time.Time) {
	b.epoch++
	b.started, b.lastApp = b.next(now), 0
	b.nodes, b.maximum = nil, b.settings.Maximum
	for _, app := range b.apps {
		for _, c := range app.containers {
			c.counted = false // with its node
		}
		app.containers, app.changed = nil, nil
		if len(app.attempts) > 0 {
			app.attempt().restart(now)
		}
	}
}

// restart forgets what a ResourceManager keeps only in memory, such as the master's address. An attempt
// whose end is recorded is over.
func (a *attempt) restart(now time.Time) {
	switch a.state {
	case records.AttemptFinishing:
		a.state, a.ended = records.AttemptFinished, now
	case records.AttemptRunning:
		a.state, a.app.state = records.AttemptLaunched, records.ApplicationAccepted
		a.trackingURL = notAvailable
	default:
	}
	a.unreachable()
	a.registered, a.finishing, a.unrecorded, a.responseID, a.last = false, false, finalRecord{}, 0, nil
	a.asks, a.blacklist, a.sequence, a.heard = nil, nil, 0, now
	a.granted, a.recovered, a.completed, a.sent, a.release = nil, nil, nil, nil, nil
	a.told = make(map[records.NodeID]bool)
}

// recover takes in a container that a registering node has, and that the books do not know, if it
// belongs to the current attempt or the application keeps containers
// (AbstractYarnScheduler#recoverContainersOnNode). Otherwise the node must end or forget it.
func (b *ResourceManager) recover(now time.Time, n *node, s ContainerStatus) []Effect {
	app := b.app(s.ID.Attempt.Application)
	if app == nil || b.container(s.ID) != nil || !app.takesBack(s) {
		return b.hear(now, n, s)
	}
	a := app.attempt()
	c := &container{
		id: s.ID, app: app, resource: s.Resource, priority: s.Priority, requestID: s.RequestID, created: s.Created,
	}
	if a.master != nil && s.ID == a.master.id {
		c = a.master
	}
	c.owner, c.node, c.state, c.exit = a, n, records.ContainerRunning, records.ExitUnknown
	c.occupy()
	app.containers = append(app.containers, c)
	if s.State == records.ContainerComplete {
		return b.hear(now, n, s)
	}
	if i := slices.Index(a.release, s.ID); i >= 0 {
		a.release = slices.Delete(a.release, i, i+1)
		return b.stop(now, c, records.ExitAborted, "Container released by application")
	}
	if s.ID.Attempt != a.id {
		a.recovered = append(a.recovered, c)
	}
	return nil
}

// takesBack reports whether a container that a node reports belongs to the application's current
// attempt.
func (app *application) takesBack(s ContainerStatus) bool {
	a := app.attempt()
	switch {
	case app.state.Terminal() || !a.live():
		return false
	case s.Master && s.ID.Attempt == a.id:
		return a.master != nil && a.master.id == s.ID
	default:
		return s.ID.Attempt == a.id || app.context.KeepContainers
	}
}
