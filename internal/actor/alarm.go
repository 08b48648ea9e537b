package actor

import (
	"context"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// alarm is a loop's timer. An alarm whose time has come rings behind the events that wait then. So
// a message that came in time, such as a heartbeat, counts although the loop was busy or stopped.
type alarm struct {
	timer  *sched.Timer
	at     time.Time // set by the core; zero: never
	behind int       // after the ring: the events to take first; -1: not rung
}

func newAlarm(ctx context.Context) *alarm {
	a := &alarm{timer: sched.NewTimer(ctx, 0), behind: -1}
	a.timer.Stop()
	return a
}

// ring notes that the time has come, while waiting events are in the mailbox.
func (a *alarm) ring(waiting int) { a.behind = waiting }

// taken notes that the loop has taken one of the waiting events.
func (a *alarm) taken() {
	if a.behind > 0 {
		a.behind--
	}
}

// due reports, once for each ring, whether the loop must wake the core now.
func (a *alarm) due() bool {
	due := a.behind == 0
	if due {
		a.behind = -1
	}
	return due
}

// stuck is the pause before the next ring if a woken core leaves its alarm in the past.
const stuck = time.Second

// set takes over the core's alarm after a step that began at now and has ended at ended. If the
// core keeps a time for which it was woken, either the wall clock was set back and the time is yet
// to come, or the core has a bug. A bug must not use up a processor, nor cost the core its later
// alarms.
func (a *alarm) set(now, ended, at time.Time, woken bool) {
	switch {
	case !at.Equal(a.at):
	case !woken || at.IsZero():
		return
	case !at.After(now):
		a.timer.Reset(stuck)
		return
	}
	a.at = at
	if a.behind >= 0 && !at.IsZero() && !at.After(now) {
		return // it has rung already
	}
	a.behind = -1
	if at.IsZero() {
		a.timer.Stop()
	} else {
		a.timer.Reset(at.Sub(ended))
	}
}

// Earliest returns the earliest of these times. A zero time means never.
func Earliest(times ...time.Time) time.Time {
	var first time.Time
	for _, t := range times {
		if first.IsZero() || !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}

// Latest returns the later one of two times. A zero time is before all others.
func Latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
