package dispatcher

import (
	"slices"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Limits bound what is kept of jobs that have ended: beyond any of them the oldest
// are forgotten. The one that ended last stays as long as its Time.
type Limits struct {
	Time  time.Duration // jobstore.expiration-time
	Jobs  int           // jobstore.max-capacity
	Bytes int64         // jobstore.cache-size; of memory, by estimate
}

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
	j.size = sizeOf(j.details)
	for _, buffer := range j.results {
		j.size += int64(buffer.Size())
	}
	a.size += j.size
}

// expire removes the jobs that are not kept any longer, and gives them.
func (a *archive) expire(now time.Time, limits Limits) []*job {
	n := 0
	for ; n < len(a.jobs); n++ {
		left := len(a.jobs) - n
		crowded := left > 1 && (left > limits.Jobs || a.size > limits.Bytes)
		if now.Before(a.jobs[n].until) && !crowded {
			break
		}
		a.size -= a.jobs[n].size
	}
	return a.removeOldest(n)
}

// yield removes the oldest jobs, and gives them, until so many bytes have become free. It
// removes none if that cannot be had: some have ended just now, or their clients read.
func (a *archive) yield(now time.Time, bytes int64) []*job {
	freed, n := int64(0), 0
	for ; freed < bytes; n++ {
		if n == len(a.jobs) || now.Before(a.jobs[n].stays) {
			return nil
		}
		freed += a.jobs[n].size
	}
	a.size -= freed
	return a.removeOldest(n)
}

// removeOldest takes jobs away whose sizes do not count any more.
func (a *archive) removeOldest(n int) []*job {
	removed := slices.Clone(a.jobs[:n])
	a.jobs = slices.Delete(a.jobs, 0, n)
	return removed
}

// Estimates of memory, in bytes, beside that of texts.
const (
	jobSize       = 1 << 10 // of a job with its maps, and its places in the Core's
	vertexSize    = 512
	exceptionSize = 128
	entrySize     = 64 // of a map or a list
)

// sizeOf estimates what a job's details take.
func sizeOf(d *msg.JobDetails) int64 {
	size := jobSize + len(d.Name) + entrySize*(len(d.Timestamps)+len(d.Steps))
	for _, v := range d.Vertices {
		size += vertexSize + len(v.Name) + entrySize*(len(v.Tasks)+len(v.Inputs))
	}
	for _, e := range slices.Concat(d.Exceptions, d.TaskFailures) {
		size += exceptionSize + len(e.Failure.Message) + len(e.Failure.Stack) + len(e.Task) + len(e.Location)
	}
	for name := range d.Counters {
		size += entrySize + len(name)
	}
	for name, value := range d.Config {
		size += entrySize + len(name) + len(value)
	}
	return int64(size)
}
