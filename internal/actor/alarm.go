package actor

import "time"

// alarm is a loop's timer. It rings behind the events that wait when its time has come: what
// has been said in time, a heartbeat say, counts although the loop was busy or stopped.
type alarm struct {
	timer  *time.Timer
	at     time.Time // as the core wants it; zero: never
	behind int       // once it has rung, the events to be taken first; -1: it has not
}

func newAlarm() *alarm {
	a := &alarm{timer: time.NewTimer(0), behind: -1}
	a.timer.Stop()
	return a
}

// ring says that the time has come, while so many events wait.
func (a *alarm) ring(waiting int) { a.behind = waiting }

// taken says that one of the events that wait was taken.
func (a *alarm) taken() {
	if a.behind > 0 {
		a.behind--
	}
}

// due tells, once a ring, that the core is to be woken now.
func (a *alarm) due() bool {
	due := a.behind == 0
	if due {
		a.behind = -1
	}
	return due
}

// stuck is after how long an alarm rings again that a core was woken for and left in the past.
const stuck = time.Second

// set takes in what the core wants after a step. A time that it was woken for and still
// wants is to come where the wall clock was set back. Else it is a mistake of the core, which
// must cost neither a processor nor all its later alarms.
func (a *alarm) set(now, at time.Time, woken bool) {
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
		return // it rings already
	}
	a.behind = -1
	if at.IsZero() {
		a.timer.Stop()
	} else {
		a.timer.Reset(time.Until(at)) // the step has taken its time
	}
}

func (a *alarm) stop() { a.timer.Stop() }

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
