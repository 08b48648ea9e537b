// Package patience says until when a role waits for others of whom nothing is heard, where
// its own process may be stopped meanwhile: then it hears nobody, and holds that against
// nobody.
//
// A role steps when something happens, and at the latest when it is to be woken. One that
// steps long after that was stopped: for as long as it is late, and perhaps before that, which
// it cannot tell, for up to the time that was left until it was to be woken. So a role that
// waits for somebody is woken in intervals, and not only when it would give him up. Messages
// that came meanwhile are taken one by one in its next steps. So before the first of these it
// puts its deadlines off.
package patience

import "time"

// overslept is how late a step is at least in a process that was stopped, and not only busy.
// Roles wait for seconds at least, by default: two for a worker to come back.
const overslept = 500 * time.Millisecond

// Late tells for how long a process was stopped at least that steps now and was to be woken
// at the given time; zero if it was not stopped, or was not to be woken, which is a zero time.
func Late(now, wake time.Time) time.Duration {
	if late := now.Sub(wake); !wake.IsZero() && late >= overslept {
		return late
	}
	return 0
}

// Deadline is when somebody is given up who is waited for. The zero Deadline has passed.
type Deadline struct {
	at        time.Time
	allowance time.Duration
	granted   bool // it was put off to leave more than was left
}

// After gives a Deadline: whoever was heard of at a time may be silent for so long.
func After(heard time.Time, allowance time.Duration) Deadline {
	return Deadline{at: heard.Add(allowance), allowance: allowance}
}

// At is when it passes.
func (d Deadline) At() time.Time { return d.at }

// Passed tells whether it has.
func (d Deadline) Passed(now time.Time) bool { return !now.Before(d.at) }

// Excuse puts a deadline off, by the time for which the process was stopped as Late tells it.
// At least as much is left as is given, in which what came meanwhile is read; but where less
// was left that is granted once only, or a process that is always late would wait for ever. Nobody has more time than at first,
// and what had passed before the process was stopped is not put off.
func (d Deadline) Excuse(now time.Time, late, atLeast time.Duration) Deadline {
	left := d.at.Add(late).Sub(now)
	if left < 0 {
		return d
	}
	if least := min(atLeast, d.allowance); left < least && !d.granted {
		left, d.granted = least, true
	}
	if at := now.Add(min(left, d.allowance)); at.After(d.at) {
		d.at = at
	}
	return d
}
