package dispatcher

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

const (
	// repeatTime is how long an id is remembered. A client repeats a submission that got no answer, and the
	// job would run twice. Or a client cancels the job and ends, and its submission arrives later and would
	// run. Clients give up a submission after some minutes, and the ApplicationMaster takes less than
	// repeatTime to read one.
	repeatTime = 10 * time.Minute
	// maxForgotten is how many ids of one kind are remembered, some 500 KiB.
	maxForgotten = 4096
)

// forgotten remembers jobs whose submissions must be refused. The zero value is ready for use.
type forgotten struct {
	jobs  map[ids.JobID]bool
	order []forgottenJob // the oldest first
}

type forgottenJob struct {
	id ids.JobID
	at time.Time
}

// add remembers a job. If there are too many, it drops and returns the oldest. If the job is remembered already, its
// time starts again.
func (f *forgotten) add(now time.Time, id ids.JobID) (dropped []ids.JobID) {
	switch {
	case f.jobs[id]:
		f.order = slices.DeleteFunc(f.order, func(j forgottenJob) bool { return j.id == id })
	case len(f.order) == maxForgotten:
		dropped = []ids.JobID{f.dropOldest()}
	}
	if f.jobs == nil {
		f.jobs = make(map[ids.JobID]bool)
	}
	f.jobs[id] = true
	f.order = append(f.order, forgottenJob{id, now})
	return dropped
}

func (f *forgotten) has(id ids.JobID) bool { return f.jobs[id] }

// expire drops and returns the jobs whose time has passed.
func (f *forgotten) expire(now time.Time) (dropped []ids.JobID) {
	for len(f.order) > 0 && now.Sub(f.order[0].at) >= repeatTime {
		dropped = append(dropped, f.dropOldest())
	}
	return dropped
}

// next returns when the next job is dropped; zero: never.
func (f *forgotten) next() time.Time {
	if len(f.order) == 0 {
		return time.Time{}
	}
	return f.order[0].at.Add(repeatTime)
}

func (f *forgotten) dropOldest() ids.JobID {
	id := f.order[0].id
	delete(f.jobs, id)
	f.order = f.order[1:]
	return id
}

// withdraw refuses later submissions of a job that the cluster does not have: its client may have given the
// submission up while it is being read. In a cluster for one job it does nothing, because the job comes
// with the cluster.
//
// The next master does not know of this. It need not: the submission is on its way to this process, over a connection
// that ends with it, and a client that has given its job up sends no other.
func (c *core) withdraw(id ids.JobID) {
	switch {
	case !c.many():
	case c.ended.has(id):
		c.drop(c.ended.add(c.now, id))
	case c.records[id] == nil || c.records[id].unwanted:
		c.withdrawn.add(c.now, id)
	}
}

// forget removes what is known of jobs that the archive has dropped. Their results stay in the store while the ids are
// remembered, so that the next master remembers them, too; see also past.
func (c *core) forget(jobs []*job) {
	if len(jobs) == 0 {
		return
	}
	for _, j := range jobs {
		delete(c.jobs, j.id)
		c.noteUnfinished(j)
		c.emit(jobForgotten{Job: j.id})
		if c.config.Mode != Application {
			c.drop(c.ended.add(c.now, j.id))
			continue
		}
		for _, id := range c.past.add(j.id, j.details.Status, c.config.Archive.Jobs) {
			c.drop(c.ended.add(c.now, id))
		}
	}
	c.remove()
}

// expireIDs drops the ids that have been remembered long enough.
func (c *core) expireIDs() {
	c.drop(c.ended.expire(c.now))
	c.withdrawn.expire(c.now)
}

// drop removes the results of jobs whose ids need not be remembered any longer.
func (c *core) drop(jobs []ids.JobID) {
	for _, id := range jobs {
		if r := c.records[id]; r != nil {
			r.dropped = true
			c.advance(id)
		}
	}
}
