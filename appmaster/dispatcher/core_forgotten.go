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

// add remembers a job, and drops the oldest if there are too many. If the job is remembered already, its
// time starts again.
func (f *forgotten) add(now time.Time, id ids.JobID) {
	switch {
	case f.has(now, id):
		f.order = slices.DeleteFunc(f.order, func(j forgottenJob) bool { return j.id == id })
	case len(f.order) == maxForgotten:
		f.drop()
	}
	if f.jobs == nil {
		f.jobs = make(map[ids.JobID]bool)
	}
	f.jobs[id] = true
	f.order = append(f.order, forgottenJob{id, now})
}

func (f *forgotten) has(now time.Time, id ids.JobID) bool {
	f.expire(now)
	return f.jobs[id]
}

func (f *forgotten) expire(now time.Time) {
	for len(f.order) > 0 && now.Sub(f.order[0].at) >= repeatTime {
		f.drop()
	}
}

func (f *forgotten) drop() {
	delete(f.jobs, f.order[0].id)
	f.order = f.order[1:]
}

// withdraw refuses later submissions of a job that the cluster does not have: its client may have given the
// submission up while it is being read. In a cluster for one job it does nothing, because the job comes
// with the cluster.
func (c *core) withdraw(id ids.JobID) {
	switch {
	case !c.many():
	case c.ended.has(c.now, id):
		c.ended.add(c.now, id)
	default:
		c.withdrawn.add(c.now, id)
	}
}
