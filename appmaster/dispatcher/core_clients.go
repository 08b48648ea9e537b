package dispatcher

import (
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/patience"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Some jobs end with their clients, and an Attached cluster keeps for its job's client what
// the job has left. A client that is not heard of for too long is given up.

// awaited lists the jobs whose clients are waited for.
func (c *core) awaited() []*job {
	if c.config.Mode == Attached {
		return slices.Concat(c.watched, c.archive.jobs)
	}
	return c.watched
}

// excuse puts off when clients are given up if the process itself was stopped.
func (c *core) excuse() {
	late := patience.Late(c.now, c.alarm)
	if late == 0 {
		return
	}
	for _, j := range c.awaited() {
		j.client = j.client.Excuse(c.now, late, c.config.ClientInterval)
	}
}

// nextLook is when a master that waits for clients is woken at the latest; zero: it has no such
// interval. One that slept until a client is given up would not know of a stop that ends just
// before that. A step that comes sooner does not put it off.
func (c *core) nextLook() time.Time {
	if interval := c.config.ClientInterval; interval > 0 && !c.now.Before(c.look) {
		c.look = c.now.Add(interval)
	}
	return c.look
}

// clientSeen lets a job go on for its client's sake, or stay. A client that has been given up
// is too late.
func (c *core) clientSeen(id ids.JobID) error {
	j := c.jobs[id]
	if j == nil {
		return fmt.Errorf("%w: %s", msg.ErrJobNotFound, id)
	}
	j.heard = c.now
	if j.details == nil {
		j.client = patience.After(c.now, j.clientTimeout)
	}
	return nil
}

// giveClientsUp cancels jobs whose clients have gone, and ends an Attached cluster whose
// client does not come for what its job has left. A cluster that ends takes all jobs with it.
func (c *core) giveClientsUp() {
	if c.outcome != nil {
		return
	}
	c.watched = slices.DeleteFunc(c.watched, func(j *job) bool {
		if !j.client.Passed(c.now) {
			return false
		}
		c.emit(cancelJob{Job: j.id, Why: fmt.Sprintf("its client sent no heartbeat for %s", j.clientTimeout)})
		return true
	})
	if c.config.Mode != Attached {
		return
	}
	for _, j := range c.archive.jobs {
		if j.client.Passed(c.now) {
			c.end(outcomeOf(j.details))
		}
	}
}

// clientFetched ends an Attached cluster once the client has all that the job
// left, and otherwise gives it time for the rest.
func (c *core) clientFetched(j *job) {
	if c.config.Mode != Attached {
		return
	}
	j.client = patience.After(c.now, j.silence())
	if j.fetched && (j.unread == 0 || j.details.Status != msg.JobFinished) {
		c.end(outcomeOf(j.details))
	}
}

// silence is for how long an Attached cluster waits for the client of its ended job after its
// last request.
func (j *job) silence() time.Duration {
	if j.unread > 0 && j.details.Status == msg.JobFinished {
		return collectTime
	}
	return fetchTime
}
