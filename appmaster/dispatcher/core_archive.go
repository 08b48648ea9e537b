package dispatcher

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
)

// Limits bound what is kept of ended jobs.
type Limits struct {
	Time  time.Duration // jobstore.expiration-time
	Jobs  int           // jobstore.max-capacity
	Bytes int64         // jobstore.cache-size; an estimate of memory
}

const (
	// handoverTime is how long an ended job stays after the last request of its client, even if other jobs
	// need its room: a client that reads sends request after request.
	handoverTime = 30 * time.Second
	// readingTime is how long a job with unread results is among the last to be dropped after its client's
	// last request. A user who reads page by page may pause.
	readingTime = 10 * time.Minute
)

// overviewSize is an estimate of the memory of a msg.JobOverview, in bytes.
const overviewSize = 512

// archive holds the ended jobs. The oldest is first: the one that may be kept for the shortest time.
type archive struct {
	jobs []*job
	size int64 // of all jobs, in bytes
}

func (a *archive) add(j *job) {
	at := len(a.jobs)
	for at > 0 && j.until.Before(a.jobs[at-1].until) { // rarely: they end one after the other
		at--
	}
	a.jobs = slices.Insert(a.jobs, at, j)
	a.resize(j)
}

// renew takes over that a job's age and size have changed.
func (a *archive) renew(j *job) {
	a.jobs = slices.DeleteFunc(a.jobs, func(other *job) bool { return other == j })
	a.add(j)
}

// resize estimates a job's memory again.
func (a *archive) resize(j *job) {
	a.size -= j.size
	j.size = budget.EndedSize(j.details)
	if j.overview != nil {
		j.size += overviewSize
	}
	for _, buffer := range j.results {
		j.size += int64(buffer.Size())
	}
	a.size += j.size
}

// stays reports whether an ended job must not be dropped for other jobs.
func (j *job) stays(now time.Time) bool { return now.Before(j.heard.Add(handoverTime)) }

// isRead reports whether the client of an ended job may still be reading its results.
func (j *job) isRead(now time.Time) bool {
	return j.unread > 0 && now.Before(j.heard.Add(readingTime))
}

// expire drops and returns the jobs that are too old or too many. If the rest take too much memory, it also
// drops those that may go, but keeps one job, which may be larger than the limit by itself.
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

// yield frees the given number of bytes, and returns the jobs that it drops. If that is impossible, because
// too many jobs stay, it changes nothing.
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

// lastly says why a job is among the last to be dropped.
type lastly struct {
	read     bool // its client may be reading
	unloaded bool // it takes almost no memory
}

func (j *job) drops(now time.Time) lastly {
	if j.unloaded {
		return lastly{unloaded: true}
	}
	return lastly{read: j.isRead(now)}
}

// unload frees memory until the jobs take no more than the given number of bytes: of jobs that are in the store, too, it
// keeps only what the list needs. Those whose clients have been silent for longest are first. It keeps at least least of
// them, which a client may be reading.
func (a *archive) unload(bytes int64, least int) {
	var loaded []*job
	for _, j := range a.jobs {
		if j.reloads && !j.unloaded {
			loaded = append(loaded, j)
		}
	}
	slices.SortStableFunc(loaded, func(a, b *job) int { return a.heard.Compare(b.heard) })
	for _, j := range loaded[:max(len(loaded)-least, 0)] {
		if a.size <= bytes {
			return
		}
		j.unload()
		a.resize(j)
	}
}

// shrink frees memory until the jobs take no more than the given number of bytes. First it drops pages that
// clients have read, and unloads jobs, then it drops jobs, the oldest first; jobs that clients may be reading, and unloaded
// ones are last. It keeps jobs
// that stay, and at least least jobs. It returns the jobs that it dropped.
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
	a.unload(bytes, least)
	left := len(a.jobs)
	for _, last := range []lastly{{}, {read: true}, {unloaded: true}} {
		a.jobs = slices.DeleteFunc(a.jobs, func(j *job) bool {
			if a.size <= bytes || left <= least || j.stays(now) || j.drops(now) != last {
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
