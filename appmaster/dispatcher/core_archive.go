package dispatcher

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
)

// Limits bound what is kept of jobs that have ended.
type Limits struct {
	Time  time.Duration // jobstore.expiration-time
	Jobs  int           // jobstore.max-capacity
	Bytes int64         // jobstore.cache-size; of memory, by estimate
}

const (
	// handoverTime is how long an ended job stays, whoever needs its room, after its client
	// was heard of: one that reads asks again and again.
	handoverTime = 30 * time.Second
	// readingTime is for how long a job whose results were not read to their ends is one of
	// the last to go: its client may be there and not ask, as people do who read page by page.
	readingTime = 10 * time.Minute
)

// archive holds the jobs that have ended, the oldest first.
type archive struct {
	jobs []*job
	size int64 // of all
}

func (a *archive) add(j *job) {
	a.jobs = append(a.jobs, j)
	a.resize(j)
}

// resize counts again what a job takes.
func (a *archive) resize(j *job) {
	a.size -= j.size
	j.size = budget.EndedSize(j.details)
	for _, buffer := range j.results {
		j.size += int64(buffer.Size())
	}
	a.size += j.size
}

// stays tells whether an ended job is not to be forgotten for the sake of others.
func (j *job) stays(now time.Time) bool { return now.Before(j.heard.Add(handoverTime)) }

// isRead tells whether the client of an ended job may be about to read on in its results.
func (j *job) isRead(now time.Time) bool {
	return j.unread > 0 && now.Before(j.heard.Add(readingTime))
}

// expire forgets the jobs that are not kept any longer, and gives them: those that are as
// old as may be, or more than may be; and where they take too much those that may go, but
// for one, which may be larger by itself.
func (a *archive) expire(now time.Time, limits Limits) []*job {
	n := 0
	for n < len(a.jobs) && (!now.Before(a.jobs[n].until) || len(a.jobs)-n > limits.Jobs) {
		a.size -= a.jobs[n].size
		n++
	}
	old := slices.Clone(a.jobs[:n])
	a.jobs = slices.Delete(a.jobs, 0, n)
	return append(old, a.shrink(now, limits.Bytes, 1)...)
}

// yield makes so many bytes free, and gives the jobs that it forgets for them. It changes
// nothing if that cannot be had, as too many jobs stay.
func (a *archive) yield(now time.Time, bytes int64) []*job {
	most := int64(0)
	for _, j := range a.jobs {
		if !j.stays(now) {
			most += j.size
		}
	}
	if bytes > most {
		return nil
	}
	return a.shrink(now, a.size-bytes, 0)
}

// shrink lets go of what is missed least until no more than so many bytes are taken: of the
// pages that clients have, and then of jobs, the oldest first, but last of those that may be
// being read. Those that stay it keeps, and so many in any case. It gives the jobs that it
// forgets.
func (a *archive) shrink(now time.Time, bytes int64, least int) (forgotten []*job) {
	for _, j := range a.jobs {
		if a.size <= bytes {
			return nil
		}
		if !j.stays(now) {
			j.results.DropRead()
			a.resize(j)
		}
	}
	left := len(a.jobs)
	for _, read := range []bool{false, true} {
		a.jobs = slices.DeleteFunc(a.jobs, func(j *job) bool {
			if a.size <= bytes || left <= least || j.stays(now) || j.isRead(now) != read {
				return false
			}
			left--
			a.size -= j.size
			forgotten = append(forgotten, j)
			return true
		})
	}
	return forgotten
}
