// Package patience computes deadlines for peers that a role waits for, in a process that may be stopped
// meanwhile. A stopped process receives nothing, and must not blame its peers for that.
//
// A role steps when something happens, and at the latest at its alarm. If it steps long after its alarm,
// its process was stopped: for as long as the step is late, and perhaps longer. The role cannot tell how
// much longer; it is at most the time from the last step to the alarm. So a role that waits for a peer sets
// its alarm at intervals, and not only at the deadline. Messages that arrived while the process was stopped
// are taken one by one in the next steps. So the role postpones its deadlines before it takes the first of
// them.
package patience

import "time"

// overslept is the delay of a step from which the process counts as stopped, and not only busy. By default
// roles wait for seconds at least: two for a worker to come back.
const overslept = 500 * time.Millisecond

// Late returns how long the process was stopped at least, if it steps now and had its alarm at wake. It
// returns zero if the process was not stopped, or if wake is zero: there was no alarm.
func Late(now, wake time.Time) time.Duration {
	if late := now.Sub(wake); !wake.IsZero() && late >= overslept {
		return late
	}
	return 0
}

// Deadline is when a role gives up a peer that it waits for. The zero Deadline has passed.
type Deadline struct {
	at        time.Time
	allowance time.Duration
	granted   bool // Excuse has already extended it to atLeast
}

// After returns the Deadline of a peer that was last heard from at a time, and may be silent for the
// allowance.
func After(heard time.Time, allowance time.Duration) Deadline {
	return Deadline{at: heard.Add(allowance), allowance: allowance}
}

// At returns the time of the deadline.
func (d Deadline) At() time.Time { return d.at }

// IsZero reports whether d is the zero Deadline.
func (d Deadline) IsZero() bool { return d.at.IsZero() }

// Passed reports whether the deadline has passed.
func (d Deadline) Passed(now time.Time) bool { return !now.Before(d.at) }

// Excuse postpones a deadline by late, the time for which the process was stopped. At least atLeast is left
// then, in which the role reads the messages that arrived meanwhile. If less was left, that extension is
// granted only once, because otherwise a process that is always late would wait for ever. No peer gets more
// than its allowance, and a deadline that had passed before the stop is not postponed.
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

// Wait is a Deadline of a wait whose begin a role finds out anew in each step. The zero Wait has not begun.
type Wait struct {
	since    time.Time
	deadline Deadline
}

// From gives the deadline of a wait that began at a time and may last for the allowance. It stays the same, with what Excuse has added,
// until the wait has another begin. Another allowance moves it by the difference.
func (w *Wait) From(since time.Time, allowance time.Duration) *Deadline {
	if !since.Equal(w.since) {
		w.since, w.deadline = since, After(since, allowance)
	}
	if more := allowance - w.deadline.allowance; more != 0 && !since.IsZero() {
		w.deadline.at, w.deadline.allowance = w.deadline.at.Add(more), allowance
	}
	return &w.deadline
}
