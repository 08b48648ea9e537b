package resourcemanager

import (
	"fmt"
	"maps"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

const (
	// tolerated is how often in succession a worker or a task host may leave questions unanswered before it has pauses. One
	// answer can come too late by chance.
	tolerated = 2
	// firstPause is the first time for which it is not asked then. Each further miss doubles the time, up to longestPause.
	firstPause   = 5 * time.Second
	longestPause = time.Minute
	// maxDoubted bounds the task hosts of a worker that have left questions unanswered. It has no more slots than some dozens.
	maxDoubted = 64
	// doubtTime is for how long such a host is remembered if nobody asks it again: it has ended then, or pauses mean nothing.
	doubtTime = 10 * longestPause
)

// unanswered are the questions that a worker, or one of its task hosts, has left unanswered in succession. One answer ends them.
type unanswered struct {
	since time.Time // since when it owes an answer, or when it last missed one; zero: it owes none
	times int
	pause time.Duration // the last one
	again time.Time     // when the pause ends
}

// miss notes an answer that has not come in time.
func (u *unanswered) miss(now time.Time) {
	u.since = now
	if u.times++; u.times >= tolerated {
		u.pause = min(max(2*u.pause, firstPause), longestPause)
		u.again = now.Add(u.pause)
	}
}

// refusal is why who is not asked now; nil: it is asked. After a pause it is asked one question at a time: a second one would wait
// as long as the first, and hold the place of a question to others. open says that there is one.
func (u *unanswered) refusal(now time.Time, who string, open bool) error {
	switch {
	case u.times < tolerated:
	case now.Before(u.again):
		left := (u.again.Sub(now) + time.Second - 1).Truncate(time.Second)
		return fmt.Errorf("%w: %s has left questions unanswered %d times in succession, and is asked again in %s", msg.ErrWorkerSilent, who, u.times, left)
	case open:
		return fmt.Errorf("%w: %s has left questions unanswered %d times in succession, and is being asked again", msg.ErrWorkerSilent, who, u.times)
	}
	return nil
}

// doubts is why a worker, or its task host, is not asked now; nil: it is asked.
func (c *core) doubts(w *worker, host ids.HostID) error {
	if err := w.unanswered.refusal(c.now, string(w.id), c.inquiries.about(w) > 0); err != nil {
		return err
	}
	if doubted := w.doubted[host]; doubted != nil {
		open := c.inquiries.any(func(q *inquiry) bool { return q.connection == w.connection && q.message.Host == host })
		return doubted.refusal(c.now, fmt.Sprintf("task host %s of worker %s", host, w.id), open)
	}
	return nil
}

// answered notes that a worker has answered a question in time: for itself, or for its task host, which may have been silent.
func (c *core) answered(w *worker, q *inquiry, silent bool) {
	w.unanswered = unanswered{}
	if c.owes(w) {
		w.unanswered.since = c.now
	}
	host := q.message.Host
	switch doubted := w.doubted[host]; {
	case host == "":
	case !silent:
		delete(w.doubted, host)
	case doubted == nil:
		c.doubt(w, host)
	case !q.sent.Before(doubted.since): // questions that are open at the same time are missed once
		doubted.miss(c.now)
	}
}

// doubt remembers that a task host has left a question unanswered. The worker says so, and users name the hosts: if they are too
// many, the host is asked as if it had answered.
func (c *core) doubt(w *worker, host ids.HostID) {
	maps.DeleteFunc(w.doubted, func(_ ids.HostID, u *unanswered) bool { return c.now.Sub(u.since) > doubtTime })
	if len(w.doubted) >= maxDoubted {
		return
	}
	if w.doubted == nil {
		w.doubted = make(map[ids.HostID]*unanswered)
	}
	w.doubted[host] = &unanswered{}
	w.doubted[host].miss(c.now)
}

// missed notes that questions to a worker are given up. It counts only if the worker has answered nothing for as long as a question
// waits: a question may have waited for its turn, and was sent a moment ago.
func (c *core) missed(w *worker) {
	u := &w.unanswered
	if !u.since.IsZero() && c.now.Sub(u.since) >= inquiryTime {
		u.miss(c.now)
		if c.now.Before(u.again) { // those that have not been sent would wait in vain
			c.endInquiries("it answers no question", func(q inquiry) bool { return q.connection == w.connection && q.sent.IsZero() })
		}
	}
	if !c.owes(w) {
		u.since = time.Time{}
	}
}

// owes reports whether a question that was sent to a worker is open.
func (c *core) owes(w *worker) bool {
	return c.inquiries.any(func(q *inquiry) bool { return q.connection == w.connection && !q.sent.IsZero() })
}
