package books

import (
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Alarm returns the time at which the ResourceManager wants a Tick: the first moment at which a
// node or an attempt has been silent for too long, or an end is recorded. Zero: never.
func (b *ResourceManager) Alarm() time.Time {
	var first time.Time
	sooner := func(t time.Time) {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	for _, n := range b.nodes {
		sooner(b.nodeDeadline(n))
	}
	for _, app := range b.apps {
		a := app.attempt()
		sooner(a.unrecorded.due)
		sooner(b.masterDeadline(a))
	}
	return first
}

// nodeDeadline returns the time until which a node must report; zero: it need not.
func (b *ResourceManager) nodeDeadline(n *node) time.Time {
	if b.settings.NodeExpiry <= 0 || n.lost {
		return time.Time{}
	}
	return n.heard.Add(b.settings.NodeExpiry)
}

// masterDeadline returns the time until which an attempt must call or, if it has unregistered,
// exit; zero: it need not.
func (b *ResourceManager) masterDeadline(a *attempt) time.Time {
	if b.settings.MasterExpiry <= 0 || !a.live() || a.state == records.AttemptScheduled {
		return time.Time{}
	}
	return a.heard.Add(b.settings.MasterExpiry)
}

// tick does what is due.
func (b *ResourceManager) tick(now time.Time) []Effect {
	due := func(t time.Time) bool { return !t.IsZero() && !now.Before(t) }
	var effects []Effect
	for _, n := range b.nodes {
		if due(b.nodeDeadline(n)) {
			effects = append(effects, b.lose(now, n.id)...)
		}
	}
	for _, app := range b.apps {
		a := app.attempt()
		if due(a.unrecorded.due) {
			effects = append(effects, b.record(now, a)...)
		}
		if due(b.masterDeadline(a)) {
			effects = append(effects, b.expireMaster(now, a)...)
		}
	}
	return effects
}

// expireMaster ends an attempt that was silent for too long. It has failed, unless it has
// unregistered (AMLivelinessMonitor and AMFinishingMonitor).
func (b *ResourceManager) expireMaster(now time.Time, a *attempt) []Effect {
	if a.finishing {
		return append(b.record(now, a), b.conclude(now, a, records.AttemptFinished)...)
	}
	return b.failAttempt(now, a, records.ExitUnknown, fmt.Sprintf("ApplicationMaster for attempt %s timed out", a.id))
}
