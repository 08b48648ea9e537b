package yarnfake

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/creds"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// begin begins an application's next attempt.
func (b *books) begin(now time.Time, app *application) {
	a := &attempt{
		id:    records.ApplicationAttemptID{Application: app.id, Attempt: int32(len(app.attempts) + 1)},
		app:   app,
		state: records.AttemptScheduled,
		host:  notAvailable, rpcPort: -1, trackingURL: notAvailable,
		began: now,
		told:  make(map[records.NodeID]bool),
	}
	if app.context.GetUnmanagedAm() {
		a.state = records.AttemptLaunched
	}
	app.state = records.ApplicationAccepted
	app.attempts = append(app.attempts, a)
}

// masterLaunch returns the request that starts an ApplicationMaster's container. Its
// credentials hold the AMRM token.
func (b *books) masterLaunch(now time.Time, a *attempt) *yarnpb.StartContainerRequestProto {
	launch := pbconv.ContainerLaunchContext(a.app.context.GetAmContainerSpec())
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
	return &yarnpb.StartContainerRequestProto{
		ContainerLaunchContext: pbconv.ContainerLaunchContextProto(launch),
		ContainerToken:         pbconv.TokenProto(b.keys.containerToken(a.master, b.started, now)),
	}
}

// stop ends a container. The books record the end at once, and its processes end
// meanwhile.
func (b *books) stop(now time.Time, c *container, exit records.ExitStatus, reason string) []effect {
	if c.state == records.ContainerComplete {
		return nil
	}
	return append([]effect{kill{node: c.node.id, id: c.id, exit: exit, reason: reason}}, b.end(now, c, exit, reason)...)
}

// end records the end of a container and reports it to its application. The end of a
// master's container ends the attempt.
func (b *books) end(now time.Time, c *container, exit records.ExitStatus, diagnostics string) []effect {
	if c.state == records.ContainerComplete {
		return nil
	}
	c.state, c.exit, c.diagnostics, c.finished = records.ContainerComplete, exit, diagnostics, now
	c.release()
	if c.master {
		return b.masterEnded(now, c)
	}
	if c.owner.live() {
		c.owner.completed = append(c.owner.completed, pbconv.ContainerStatusProto(records.ContainerStatus{
			ID: c.id, State: records.ContainerComplete, ExitStatus: exit, Diagnostics: diagnostics, Capability: c.resource,
		}))
	}
	return nil
}

func (b *books) masterEnded(now time.Time, c *container) []effect {
	a := c.owner
	if !a.live() {
		return nil
	}
	if a.finishing {
		return b.conclude(now, a, records.AttemptFinished)
	}
	return b.failAttempt(now, a, c.exit, fmt.Sprintf("AM Container for %s exited with  exitCode: %d\n%s", a.id, c.exit, c.diagnostics))
}

// failAttempt ends an attempt that did not finish, and begins the next one if the limit
// allows it.
func (b *books) failAttempt(now time.Time, a *attempt, exit records.ExitStatus, why string) []effect {
	app := a.app
	a.diagnostics = why
	if exit.Countable() {
		app.failures++
	}
	most := b.settings.maxAttempts
	if n := int(app.context.GetMaxAppAttempts()); n > 0 {
		most = min(n, most)
	}
	if app.failures >= most || app.context.GetUnmanagedAm() {
		app.state, app.final = records.ApplicationFailed, records.FinalFailed
		app.finished = now
		app.diagnostics = fmt.Sprintf("Application %s failed %d times due to %s. Failing the application.", app.id, app.failures, why)
		return b.conclude(now, a, records.AttemptFailed)
	}
	a.state, a.ended = records.AttemptFailed, now
	var effects []effect
	if a.master != nil {
		effects = b.stop(now, a.master, exit, why)
	}
	keep := app.context.GetKeepContainersAcrossApplicationAttempts()
	for _, c := range slices.Clone(app.containers) {
		if !keep || c.state == records.ContainerNew {
			effects = append(effects, b.stop(now, c, records.ExitAborted, "Container released: its application attempt has failed")...)
		}
	}
	b.begin(now, app)
	next := app.attempt()
	for _, c := range app.containers {
		if c.state != records.ContainerComplete {
			c.owner = next
		}
	}
	return effects
}

// conclude ends an application's last attempt and all its containers.
func (b *books) conclude(now time.Time, a *attempt, state records.AttemptState) []effect {
	a.state, a.ended = state, now
	var effects []effect
	for _, c := range slices.Clone(a.app.containers) {
		effects = append(effects, b.stop(now, c, records.ExitKilledAfterAppCompletion, "Container killed: its application has ended")...)
	}
	return effects
}

// kill ends an application at its user's request. It reports whether the application had
// ended before.
func (b *books) kill(now time.Time, app *application, reason string) (bool, []effect) {
	if app.state.Terminal() {
		return true, nil
	}
	app.state, app.final, app.finished = records.ApplicationKilled, records.FinalKilled, now
	app.diagnostics = "Application " + app.id.String() + " was killed by user " + app.user
	if reason != "" {
		app.diagnostics = reason
	}
	return app.context.GetUnmanagedAm(), b.conclude(now, app.attempt(), records.AttemptKilled)
}
