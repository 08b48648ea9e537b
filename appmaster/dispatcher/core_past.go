package dispatcher

import (
	"fmt"
	"slices"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// If the ApplicationMaster of an application is replaced, its program runs again from the beginning, and must find each of
// its jobs. So a job of an application that is too old for the archive stays in the store, until the application ends or
// has too many jobs.

// past is the ended jobs of an application that are only in the store. Make it with newPast.
type past struct {
	jobs  map[ids.JobID]msg.JobStatus
	order []ids.JobID // the oldest first
}

func newPast() past { return past{jobs: make(map[ids.JobID]msg.JobStatus)} }

func (p *past) has(id ids.JobID) bool { return p.jobs[id] != "" }

// add adds a job. If there are more than most, it removes the oldest and returns them.
func (p *past) add(id ids.JobID, status msg.JobStatus, most int) (removed []ids.JobID) {
	p.jobs[id] = status
	p.order = append(p.order, id)
	for len(p.order) > most {
		oldest := p.order[0]
		delete(p.jobs, oldest)
		p.order = p.order[1:]
		removed = append(removed, oldest)
	}
	return removed
}

func (p *past) remove(id ids.JobID) {
	delete(p.jobs, id)
	p.order = slices.DeleteFunc(p.order, func(other ids.JobID) bool { return other == id })
}

// replay watches a program that runs again. The jobs that it has executed come first, in the same order. If its first jobs
// may have been forgotten, a job that is not known may be one of them, and must not run again. The zero value is for a
// program that runs for the first time, or whose jobs are all known.
type replay struct{ jobs map[ids.JobID]bool } // that the program has not executed again

// found notes that the program has executed a job again.
func (r *replay) found(id ids.JobID) { delete(r.jobs, id) }

// admit refuses a job that may have run.
func (r *replay) admit(s Submission) error {
	if len(r.jobs) == 0 {
		return nil
	}
	return fmt.Errorf("%w: the program runs again, and job %s (%q) is not among its first ones, or it has ended and its result is not kept any longer: raise %s",
		msg.ErrDifferentJob, s.Job, s.Graph.Name, config.JobStoreMaxCapacity.Name())
}
