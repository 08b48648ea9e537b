package dispatcher

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Jobs that have ended are archived for history servers: see Archiver. If HDFS is away or refuses an archive, the master tries
// it again while the cluster goes on, and once more when the cluster ends.

const (
	// leastPause and mostPause bound the pause before an archive is tried again. It doubles with each try: HDFS may be away
	// for long, and a quota or a lack of rights may refuse the archive for good.
	leastPause = 10 * time.Second
	mostPause  = 5 * time.Minute
	// mostTries bounds the tries of a job, which last for an hour: until then its graph and its result stay in the store.
	mostTries = 17
	// mostUnarchived bounds the jobs that wait for their next try.
	mostUnarchived = 1000
	// mostUnarchivedBytes bounds the descriptions of jobs that are not archived yet, by the estimate of budget.EndedSize.
	mostUnarchivedBytes = 16 << 20
)

// errTooMany is why a job is not archived although it may be tried again.
var errTooMany = errors.New("too many others wait for the file system")

// unarchived are the jobs that have ended and are not archived yet. Make it with newUnarchived.
type unarchived struct {
	jobs    map[ids.JobID]*toArchive
	waiting []*toArchive // those of them that wait for their next try, the next one first
	bytes   int64        // of the descriptions of all
}

// toArchive is a job that has ended.
type toArchive struct {
	id      ids.JobID
	status  msg.JobStatus
	details *msg.JobDetails // never changed; nil: they are only in the store
	size    int64           // of details, in bytes
	again   bool            // details can be read from the store again
	tries   int             // that have failed
	next    time.Time
}

func newUnarchived() unarchived { return unarchived{jobs: make(map[ids.JobID]*toArchive)} }

// describe keeps the description of a job; nil: none.
func (u *unarchived) describe(t *toArchive, details *msg.JobDetails) {
	u.bytes -= t.size
	t.details, t.size = details, 0
	if details != nil {
		t.size = budget.EndedSize(details)
	}
	u.bytes += t.size
}

// full reports whether there is no room for a description of so many bytes. There is always room for one.
func (u *unarchived) full(size int64) bool { return u.bytes > 0 && u.bytes+size > mostUnarchivedBytes }

// archiveEnded has a job archived whose end is stored. Details are nil if they are only in the store. If there is no room for
// them, those jobs give way that have been tried most often: each job is to be tried once.
func (c *core) archiveEnded(id ids.JobID, status msg.JobStatus, details *msg.JobDetails) {
	if !c.config.Archives {
		return
	}
	t := &toArchive{id: id, status: status, again: details == nil}
	if details != nil {
		if !c.makeRoom(budget.EndedSize(details)) {
			c.emit(archiveDone{Job: id, Why: errTooMany})
			return
		}
		copied := *details // the job may be unloaded meanwhile
		c.unarchived.describe(t, &copied)
	}
	c.unarchived.jobs[id] = t
	c.tryArchive(t)
}

// makeRoom makes room for a description of so many bytes, and reports whether there is some. First it drops descriptions that can
// be read again.
func (c *core) makeRoom(size int64) bool {
	u := &c.unarchived
	for _, t := range u.waiting {
		if u.full(size) && t.again {
			u.describe(t, nil)
		}
	}
	for u.full(size) {
		described := slices.DeleteFunc(slices.Clone(u.waiting), func(t *toArchive) bool { return t.details == nil })
		if len(described) == 0 {
			return false
		}
		c.giveWay(described)
	}
	return true
}

func (c *core) tryArchive(t *toArchive) {
	c.emit(archiveJob{Job: t.id, Status: t.status, Details: t.details})
}

// archiveTried continues when a try has ended. When the cluster ends, there is no other.
func (c *core) archiveTried(e archiveTried) {
	t := c.unarchived.jobs[e.Job]
	switch {
	case t == nil:
		c.emit(dropped{Job: e.Job, Why: "it is not being archived"})
	case e.Err == nil, e.Unreadable, c.outcome != nil:
		c.archiveDone(t, e.Err)
	default:
		if e.Read != nil && !c.unarchived.full(budget.EndedSize(e.Read)) { // otherwise the next try reads it again
			c.unarchived.describe(t, e.Read)
		}
		c.archiveLater(t, e.Err)
	}
}

func (c *core) archiveDone(t *toArchive, why error) {
	delete(c.unarchived.jobs, t.id)
	c.unarchived.describe(t, nil)
	c.emit(archiveDone{Job: t.id, Why: why})
}

func (c *core) archiveLater(t *toArchive, why error) {
	pause := mostPause
	if t.tries < 10 { // no overflow
		pause = min(pause, leastPause<<t.tries)
	}
	t.tries++
	if t.tries == mostTries {
		c.archiveDone(t, why)
		return
	}
	t.next = c.now.Add(pause)
	u := &c.unarchived
	if len(u.waiting) >= mostUnarchived {
		c.giveWay(u.waiting)
	}
	at, _ := slices.BinarySearchFunc(u.waiting, t.next.Add(1), func(t *toArchive, next time.Time) int { return t.next.Compare(next) })
	u.waiting = slices.Insert(u.waiting, at, t)
	c.emit(archiveDelayed{Job: t.id, Tries: t.tries, Pause: pause, Why: why})
}

// giveWay gives up that one of some waiting jobs which has been tried most often.
func (c *core) giveWay(some []*toArchive) {
	u := &c.unarchived
	most := slices.MaxFunc(some, func(a, b *toArchive) int { return cmp.Compare(a.tries, b.tries) })
	u.waiting = slices.DeleteFunc(u.waiting, func(t *toArchive) bool { return t == most })
	c.archiveDone(most, errTooMany)
}

// archiveAgain tries the archives whose time has come; if the cluster ends, all of them.
func (c *core) archiveAgain() {
	u := &c.unarchived
	for len(u.waiting) > 0 && (c.outcome != nil || !c.now.Before(u.waiting[0].next)) {
		c.tryArchive(u.waiting[0])
		u.waiting = slices.Delete(u.waiting, 0, 1)
	}
}

// nextArchive returns when archiveAgain has something to do; zero: never.
func (c *core) nextArchive() time.Time {
	if len(c.unarchived.waiting) == 0 {
		return time.Time{}
	}
	return c.unarchived.waiting[0].next
}
