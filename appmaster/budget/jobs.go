package budget

import (
	"fmt"

	"github.com/bobbin-yarn/bobbin/appmaster/internal/collect"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Jobs keeps account of the memory that jobs may take:
//
//	├─ reserved, for each job that has not ended
//	│   ├─ its graph and its JobMaster, by estimate of the most that they become
//	│   └─ of each result that it collects, what may be held of it
//	├─ kept: what is left of jobs that have ended, by estimate
//	└─ free
//
// A job is admitted when there is room for the most that it may become, so that none has
// to be ended for its memory later. A job that ends leaves no more than was reserved.
// Plain state, made with NewJobs; one goroutine may use it.
type Jobs struct {
	most     int64 // 0: nobody bounds it
	reserved int64
}

// NewJobs makes an account of so many bytes; 0: nobody bounds them.
func NewJobs(most int64) Jobs { return Jobs{most: most} }

// Reservation is what a job reserves until it ends.
type Reservation struct {
	Bytes int64 // all of it
	Each  int   // bytes that may be held of each of its results
}

// resultShare of what is free goes to the results of a job at most, beyond the least that
// they need, so that the next jobs get some as well.
const resultShare = 4

// Admit makes room for a job. Nothing is held of the results of one that is not attached. So many
// bytes are kept of jobs that have ended; yield lets go of as many of these as are lacking, if that
// can be had, and tells how many are kept then. msg.ErrNoMemory, msg.ErrJobTooLarge.
func (a *Jobs) Admit(job ids.JobID, graph *jobgraph.JobGraph, attached bool, kept int64, yield func(lacking int64) (kept int64)) (Reservation, error) {
	size, results := GraphSize(graph), int64(0)
	if attached {
		results = resultsOf(graph)
	}
	if a.most == 0 {
		return a.reserve(size, results, collect.MaxBuffered), nil
	}
	least := size + results*collect.LeastBuffered
	if least > a.most {
		return Reservation{}, fmt.Errorf("%w: job %s needs %s, and all jobs share %s: raise %s, or divide the job",
			msg.ErrJobTooLarge, job, mebibytes(least), mebibytes(a.most), config.JobManagerProcessSize)
	}
	if lacking := a.reserved + kept + least - a.most; lacking > 0 {
		kept = yield(lacking)
	}
	free := a.most - a.reserved - kept - least
	if free < 0 {
		return Reservation{}, fmt.Errorf("%w for job %s: it needs %s, and other jobs hold %s of %s: submit it again when other jobs have ended, or raise %s",
			msg.ErrNoMemory, job, mebibytes(least), mebibytes(a.reserved+kept), mebibytes(a.most), config.JobManagerProcessSize)
	}
	beyond := int64(0)
	if results > 0 {
		beyond = min(free/resultShare/results, collect.MaxBuffered-collect.LeastBuffered)
	}
	return a.reserve(size, results, collect.LeastBuffered+beyond), nil
}

// reserve reserves a job of that size, of each of whose results so much may be held.
func (a *Jobs) reserve(size, results, each int64) Reservation {
	if results == 0 {
		each = 0
	}
	r := Reservation{Bytes: size + results*each, Each: int(each)}
	a.reserved += r.Bytes
	return r
}

// Release gives back what a job has reserved.
func (a *Jobs) Release(r Reservation) { a.reserved -= r.Bytes }

// Reserved is what all jobs have reserved, in bytes.
func (a *Jobs) Reserved() int64 { return a.reserved }

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// resultsOf counts what a job collects.
func resultsOf(g *jobgraph.JobGraph) (n int64) {
	for _, v := range g.Vertices {
		if v.Collect != "" {
			n++
		}
	}
	return n
}
