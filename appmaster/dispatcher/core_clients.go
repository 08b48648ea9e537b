package dispatcher

import (
	"fmt"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/patience"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Some jobs end with their clients, and an Attached cluster keeps the results of its job for the job's
// client. A client that sends nothing for too long is given up.

// awaited returns the jobs whose clients have a deadline.
func (c *core) awaited() []*job {
	if c.config.Mode == Attached && len(c.archive.jobs) > 0 && !c.archive.jobs[0].unloaded {
		return c.archive.jobs // the cluster's only job
	}
	return c.watched
}

// excuse postpones the clients' deadlines if the process itself was stopped.
func (c *core) excuse() {
	late := patience.Late(c.now, c.alarm)
	if late == 0 {
		return
	}
	for _, j := range c.awaited() {
		j.client = j.client.Excuse(c.now, late, c.config.ClientInterval)
	}
}

// nextLook returns when an ApplicationMaster that waits for clients is woken at the latest; zero: there is
// no interval. Without the interval it would sleep until a deadline, and miss a stop that ends just before
// the deadline. An earlier step does not postpone this time.
func (c *core) nextLook() time.Time {
	if interval := c.config.ClientInterval; interval > 0 && !c.now.Before(c.look) {
		c.look = c.now.Add(interval)
	}
	return c.look
}

// clientSeen extends the deadline of a job's client, and keeps an ended job for a while. A client that was
// given up comes too late.
func (c *core) clientSeen(id ids.JobID) error {
	j := c.jobs[id]
	if j == nil {
		return fmt.Errorf("%w: %s", msg.ErrJobNotFound, id)
	}
	j.heard = c.now
	if j.phase == running {
		j.client = patience.After(c.now, j.clientTimeout)
	}
	return nil
}

// giveClientsUp cancels jobs whose clients sent nothing until their deadlines, and ends an Attached cluster
// whose client does not fetch the results. When the cluster ends, all its jobs end.
func (c *core) giveClientsUp() {
	if c.outcome != nil {
		return
	}
	c.watched = slices.DeleteFunc(c.watched, func(j *job) bool {
		if !j.client.Passed(c.now) {
			return false
		}
		c.requestEnd(j, fmt.Sprintf("its client sent no heartbeat for %s", j.clientTimeout))
		return true
	})
	if c.config.Mode != Attached {
		return
	}
	for _, j := range c.archive.jobs {
		if !j.unloaded && j.client.Passed(c.now) {
			c.end(outcomeOf(j.details))
		}
	}
}

// clientFetched ends an Attached cluster if the client has all results of the job. Otherwise it extends the
// client's deadline.
func (c *core) clientFetched(j *job) {
	if c.config.Mode != Attached {
		return
	}
	j.client = patience.After(c.now, j.silence())
	if j.fetched && (j.unread == 0 || j.details.Status != msg.JobFinished) {
		c.end(outcomeOf(j.details))
	}
}

// silence is how long an Attached cluster waits for the next request of its ended job's client.
func (j *job) silence() time.Duration {
	if j.unread > 0 && j.details.Status == msg.JobFinished {
		return collectTime
	}
	return fetchTime
}
