package taskexecutor

import (
	"fmt"
	"time"
)

// watch tells whether somebody has been silent for too long. It looks at each
// interval's end. Who was stopped himself, and wakes up long after a look was due,
// has heard nobody meanwhile and holds it against nobody.
type watch struct {
	interval, timeout time.Duration
	last              time.Time // sign of life, later by the time for which nobody listened
	due               time.Time // the next look
}

// newWatch begins with a sign of life.
func newWatch(now time.Time, interval, timeout time.Duration) watch {
	interval = max(interval, time.Millisecond) // a peer that says none would have the core look all the time
	return watch{interval: interval, timeout: timeout, last: now, due: now.Add(interval)}
}

// heard takes in a sign of life.
func (w *watch) heard(now time.Time) { w.last = now }

// look tells whether the silence has been too long, or "".
func (w *watch) look(now time.Time) (lost string) {
	if late := now.Sub(w.due); late > 0 {
		w.last = w.last.Add(min(late, now.Sub(w.last)))
	}
	w.due = now.Add(w.interval)
	if silence := now.Sub(w.last); silence >= w.timeout {
		return fmt.Sprintf("no heartbeat for %s (heartbeat.timeout)", silence)
	}
	return ""
}

// overslept is how late a timer is dealt with at least in a process that was stopped, and not
// only busy. The roles of the master have another rule (package patience), which looks at the
// alarm of the core. Here each term has a timer of its own, and only that timer tells that the
// worker was stopped.
const overslept = time.Second

// term is a time within which somebody has to answer, or to end.
type term struct {
	length time.Duration
	end    time.Time
	again  bool // it has begun anew, as the worker was stopped when it ended
}

// allow sets the timer of the end of somebody's term.
func (c *core) allow(t timer, length time.Duration) {
	c.begin(t, term{length: length})
}

func (c *core) begin(t timer, of term) {
	of.end = c.now.Add(of.length)
	c.terms[t] = of
	c.set(t, of.length)
}

// excused tells whether a timer that is due means nothing: it is dealt with so late that the
// worker itself was stopped. The term begins anew then, as an answer that came meanwhile may
// wait behind the timer, and a peer that was stopped together with the worker has had no time.
// That is so once in a term, or a worker that is always late would wait for ever.
func (c *core) excused(t timer) bool {
	passed, set := c.terms[t]
	delete(c.terms, t)
	if !set || passed.again || c.now.Sub(passed.end) < overslept {
		return false
	}
	passed.again = true
	c.begin(t, passed)
	return true
}
