package taskexecutor

import (
	"fmt"
	"time"
)

// watch tells whether a peer has been silent for too long. It looks at the end of each interval. If
// this process was stopped, the look is late, and the late time does not count as silence of the
// peer.
type watch struct {
	interval, timeout time.Duration
	last              time.Time // last message, moved by the time in which this process was stopped
	due               time.Time // the next look
}

// newWatch starts as if a message had just come.
func newWatch(now time.Time, interval, timeout time.Duration) watch {
	interval = max(interval, time.Millisecond) // without an interval the core would look all the time
	return watch{interval: interval, timeout: timeout, last: now, due: now.Add(interval)}
}

// heard notes a message of the peer.
func (w *watch) heard(now time.Time) { w.last = now }

// look says that the silence has been too long, or "".
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

// overslept is the delay of a timer from which on the process counts as stopped, and not only busy.
// The roles of the ApplicationMaster have another rule (package patience), which uses the alarm of
// the core. Here each term has its own timer, and only this timer shows that the worker was
// stopped.
const overslept = time.Second

// term is a time in which a peer must answer or end.
type term struct {
	length time.Duration
	end    time.Time
	again  bool // it was started again, because the worker was stopped when it ended
}

// allow starts a term with this timer.
func (c *core) allow(t timer, length time.Duration) {
	c.begin(t, term{length: length})
}

func (c *core) begin(t timer, of term) {
	of.end = c.now.Add(of.length)
	c.terms[t] = of
	c.set(t, of.length)
}

// excused tells whether to ignore an expired timer: it comes so late that the worker itself was
// stopped. The term then starts again. An answer that came meanwhile may wait behind the timer, and
// a peer that was stopped together with the worker had no time to answer. This happens only once
// for each term; otherwise a worker that is always late would wait for ever.
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
