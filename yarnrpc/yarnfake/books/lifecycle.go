package books

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// begin begins an application's next attempt.
func (b *ResourceManager) begin(now time.Time, app *application) {
	a := &attempt{
		id:    records.ApplicationAttemptID{Application: app.id, Attempt: int32(len(app.attempts) + 1)},
		app:   app,
		state: records.AttemptScheduled,
		host:  notAvailable, rpcPort: -1, trackingURL: notAvailable,
		began: now,
		told:  make(map[records.NodeID]bool),
	}
	if app.context.Unmanaged {
		a.state, a.heard = records.AttemptLaunched, now
	}
	app.state = records.ApplicationAccepted
	app.attempts = append(app.attempts, a)
}

// masterLaunch returns the request that starts an ApplicationMaster's container. Its
// credentials hold the AMRM token.
func (b *ResourceManager) masterLaunch(now time.Time, a *attempt) StartRequest {
	launch := a.app.context.Container
	credentials := creds.New()
	if given, err := creds.Parse(launch.Tokens); err == nil {
		credentials = given
	}
	credentials.Tokens[""] = b.keys.amrmToken(a.id)
	launch.Tokens = credentials.Marshal()
	environment := map[string]string{
		"APPLICATION_WEB_PROXY_BASE": "/proxy/" + a.app.id.String(),
		"APP_SUBMIT_TIME_ENV":        fmt.Sprint(a.app.submitted.UnixMilli()),
	}
	maps.Copy(environment, launch.Environment)
	launch.Environment = environment
	return StartRequest{Token: *b.keys.containerToken(a.master, b.started, now), Launch: launch}
}

// stop ends a container. The books record the end at once, and its processes end
// meanwhile.
func (b *ResourceManager) stop(now time.Time, c *container, exit records.ExitStatus, reason string) []Effect {
	if c.state == records.ContainerComplete {
		return nil
	}
	return append([]Effect{Kill{Node: c.node.id, ID: c.id, Exit: exit, Reason: reason}}, b.end(now, c, exit, reason)...)
}

// end records the end of a container and reports it to its application. The end of a
// master's container ends the attempt.
func (b *ResourceManager) end(now time.Time, c *container, exit records.ExitStatus, diagnostics string) []Effect {
	if c.state == records.ContainerComplete {
		return nil
	}
	c.state, c.exit, c.diagnostics, c.finished = records.ContainerComplete, exit, diagnostics, now
	c.release()
	if c.master {
		c.known = true
		return b.masterEnded(now, c)
	}
	if c.owner.live() {
		c.owner.askAgain(c)
		c.owner.completed = append(c.owner.completed, c)
	} else {
		c.known = true // nobody waits for the status
	}
	return nil
}

func (b *ResourceManager) masterEnded(now time.Time, c *container) []Effect {
	a := c.owner
	if !a.live() {
		return nil
	}
	if a.finishing {
		return append(b.record(now, a), b.conclude(now, a, records.AttemptFinished)...)
	}
	return b.failAttempt(now, a, c.exit, fmt.Sprintf("AM Container for %s exited with  exitCode: %d\n%s", a.id, c.exit, c.diagnostics))
}

// failAttempt ends an attempt that did not finish, and begins the next one if the limit
// allows it.
func (b *ResourceManager) failAttempt(now time.Time, a *attempt, exit records.ExitStatus, why string) []Effect {
	app := a.app
	a.diagnostics = why
	a.counts, a.ended = exit.Countable(), now
	a.unreachable()
	failures, most := app.failures(now), b.settings.MaxAttempts
	if n := app.context.MaxAttempts; n > 0 {
		most = min(n, most)
	}
	if failures >= most || app.context.Unmanaged {
		app.state, app.final = records.ApplicationFailed, records.FinalFailed
		app.finished = now
		app.diagnostics = fmt.Sprintf("Application %s failed %d times due to %s. Failing the application.", app.id, failures, why)
		return b.conclude(now, a, records.AttemptFailed)
	}
	a.state = records.AttemptFailed
	var effects []Effect
	if a.master != nil && exit == records.ExitUnknown {
		// YARN stops a silent master as a master stops a container (AMLauncher#cleanup). If the user fails the attempt,
		// YARN treats the master's container like any other.
		effects = b.stop(now, a.master, records.ExitKilledByAppMaster, why)
	}
	b.begin(now, app)
	keep, next := app.context.KeepContainers, app.attempt()
	if keep {
		// The last answer may be lost, so the next attempt gets its statuses again
		// (RMAppAttemptImpl#transferStateFromAttempt).
		next.completed = slices.Concat(a.completed, a.sent)
		a.completed, a.sent = nil, nil
		next.release = a.release
		next.blacklist = a.blacklist // AppSchedulingInfo#transferStateFromPreviousAppSchedulingInfo
	}
	for _, c := range slices.Concat(a.completed, a.sent) {
		effects = append(effects, c.forget())
	}
	a.completed, a.sent = nil, nil
	for _, c := range slices.Clone(app.containers) {
		if keep && c.state != records.ContainerComplete {
			c.owner, c.master = next, false
		}
		if !keep || c.state == records.ContainerNew {
			effects = append(effects, b.stop(now, c, records.ExitAborted, "Container released: its application attempt has failed")...)
		}
	}
	return effects
}

// unreachable removes the address of a master that has failed or was killed
// (RMAppAttemptImpl#invalidateAMHostAndPort), or that has registered at an earlier ResourceManager.
func (a *attempt) unreachable() { a.host, a.rpcPort = notAvailable, -1 }

// failures returns how many failed attempts count towards the limit.
func (app *application) failures(now time.Time) int {
	count := 0
	for _, a := range app.attempts {
		if valid := app.context.FailuresValidity; a.counts && (valid <= 0 || now.Sub(a.ended) < valid) {
			count++
		}
	}
	return count
}

// conclude ends an application's last attempt and all its containers.
func (b *ResourceManager) conclude(now time.Time, a *attempt, state records.AttemptState) []Effect {
	a.state, a.ended = state, now
	var effects []Effect
	for _, c := range slices.Concat(a.completed, a.sent) {
		effects = append(effects, c.forget())
	}
	a.completed, a.sent, a.unrecorded = nil, nil, finalRecord{}
	for _, c := range slices.Clone(a.app.containers) {
		effects = append(effects, b.stop(now, c, records.ExitKilledAfterAppCompletion, "Container killed: its application has ended")...)
	}
	return effects
}

// kill ends an application at its user's request. It reports whether the application had
// ended before.
func (b *ResourceManager) kill(now time.Time, app *application, reason string) (bool, []Effect) {
	if app.state.Terminal() {
		return true, nil
	}
	app.state, app.final, app.finished = records.ApplicationKilled, records.FinalKilled, now
	app.attempt().unreachable()
	app.diagnostics = "Application " + app.id.String() + " was killed by user " + app.user
	if reason != "" {
		app.diagnostics = reason
	}
	return app.context.Unmanaged, b.conclude(now, app.attempt(), records.AttemptKilled)
}
