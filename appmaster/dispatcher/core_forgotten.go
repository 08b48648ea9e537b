package dispatcher

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

const (
	// repeatTime is how long an id is remembered: a client that has got no answer to its
	// submission repeats it, and the job would run twice; or it cancels the job and goes, and a
	// submission that comes later than that would run. Clients give a submission up after some
	// minutes, and the master reads none for as long.
	repeatTime = 10 * time.Minute
	// maxForgotten bounds the ids of one kind that are remembered, some 500 KiB.
	maxForgotten = 4096
)

// forgotten remembers jobs of which no submission may be taken any more. The zero value is
// ready for use.
type forgotten struct {
	jobs  map[ids.JobID]bool
	order []forgottenJob // the oldest first
}

type forgottenJob struct {
	id ids.JobID
	at time.Time
}

// add remembers one, in place of the oldest where there are many. One that is remembered is
// so from now on anew.
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

// withdraw refuses the submission of a job that is not there: its client may have given it up
// while that is being read. The one job of a cluster comes with the cluster.
func (c *core) withdraw(id ids.JobID) {
	switch {
	case !c.many():
	case c.ended.has(c.now, id):
		c.ended.add(c.now, id)
	default:
		c.withdrawn.add(c.now, id)
	}
}
