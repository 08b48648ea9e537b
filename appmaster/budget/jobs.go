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
//	│   └─ for each result that it collects, the most that may be held of it
//	├─ kept: what is left of jobs that have ended, by estimate
//	└─ free
//
// A job is admitted if there is room for the most that it may become. So no job has to be ended later for
// its memory. A job that ends keeps no more than it had reserved. Jobs is plain state, made with NewJobs.
// One goroutine may use it.
type Jobs struct {
	most     int64 // 0: no bound
	reserved int64
	raise    config.MemoryKey
}

// NewJobs makes an account of the given number of bytes; 0: no bound. raise is the option that gives more.
func NewJobs(most int64, raise config.MemoryKey) Jobs { return Jobs{most: most, raise: raise} }

// Reservation is what a job reserves until it ends.
type Reservation struct {
	Bytes int64 // all that is reserved
	Each  int   // bytes that may be held of each of its results
}

// resultShare bounds the room of a job's results beyond their minimum: a quarter of the free bytes, so that
// the next jobs get some as well.
const resultShare = 4

// Need is what a job takes, by estimate.
type Need struct {
	Bytes   int64 // its graph and its JobMaster
	Results int64 // number of results that it collects
}

// least is the memory with which a job can run.
func (n Need) least() int64 { return n.Bytes + n.Results*collect.LeastBuffered }

// NeedOf estimates what a job takes. A job that is not attached gets no memory for results. The time is
// proportional to the graph.
func NeedOf(graph *jobgraph.JobGraph, attached bool) Need {
	need := Need{Bytes: GraphSize(graph)}
	if attached {
		need.Results = resultsOf(graph)
	}
	return need
}

// Admit reserves memory for a job. kept is how many bytes ended jobs keep. If bytes are lacking, Admit calls yield. yield frees as many bytes of ended jobs, if
// that is possible, and returns how many bytes ended jobs keep then. Errors: msg.ErrNoMemory,
// msg.ErrJobTooLarge.
func (a *Jobs) Admit(job ids.JobID, need Need, kept int64, yield func(lacking int64) (kept int64)) (Reservation, error) {
	if a.most == 0 {
		return a.Reserve(need, kept), nil
	}
	least := need.least()
	if least > a.most {
		return Reservation{}, fmt.Errorf("%w: job %s needs %s, and all jobs share %s: raise %s, or divide the job",
			msg.ErrJobTooLarge, job, mebibytes(least), mebibytes(a.most), a.raise)
	}
	if lacking := a.reserved + kept + least - a.most; lacking > 0 {
		kept = yield(lacking)
	}
	if a.reserved+kept+least > a.most {
		return Reservation{}, fmt.Errorf("%w for job %s: it needs %s, and other jobs hold %s of %s: submit it again when other jobs have ended, or raise %s",
			msg.ErrNoMemory, job, mebibytes(least), mebibytes(a.reserved+kept), mebibytes(a.most), a.raise)
	}
	return a.Reserve(need, kept), nil
}

// Reserve reserves memory for a job without asking whether there is room: another master has admitted the job. kept is
// how many bytes ended jobs keep.
func (a *Jobs) Reserve(need Need, kept int64) Reservation {
	each := int64(0)
	switch {
	case need.Results == 0:
	case a.most == 0:
		each = collect.MaxBuffered
	default:
		free := max(a.most-a.reserved-kept-need.least(), 0)
		each = collect.LeastBuffered + min(free/resultShare/need.Results, collect.MaxBuffered-collect.LeastBuffered)
	}
	r := Reservation{Bytes: need.Bytes + need.Results*each, Each: int(each)}
	a.reserved += r.Bytes
	return r
}

// Release returns a job's reservation to the account.
func (a *Jobs) Release(r Reservation) { a.reserved -= r.Bytes }

// Reserved returns what all jobs have reserved, in bytes.
func (a *Jobs) Reserved() int64 { return a.reserved }

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }

// resultsOf counts the results that a job collects.
func resultsOf(g *jobgraph.JobGraph) (n int64) {
	for _, v := range g.Vertices {
		if v.Collect != "" {
			n++
		}
	}
	return n
}
