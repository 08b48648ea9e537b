package dispatcher

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// Archiver archives a job that has ended, for history servers. It returns when that is done or given up, and logs what it
// cannot do. It may be called again for the same job, and from any goroutine.
type Archiver func(ctx context.Context, job *msg.JobDetails)

// ArchiveBy names what archives jobs, if Config.Archives is true. Call it before Run.
func (d *Dispatcher) ArchiveBy(a Archiver) { d.archive = a }

// Archived waits until all jobs that have ended are archived, or given up. Before that the cluster must not end: no later
// master would archive them.
func (d *Dispatcher) Archived(ctx context.Context) error { return d.archiving.all(ctx) }

// archiving are the jobs that are being archived.
type archiving struct {
	mu   sync.Mutex // guards jobs
	jobs map[ids.JobID]chan struct{}
}

// begin notes that a job is being archived, until end is called.
func (a *archiving) begin(job ids.JobID) (end func()) {
	done := make(chan struct{})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.jobs[job] = done
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.jobs, job)
		close(done)
	}
}

// await waits while a job is being archived.
func (a *archiving) await(ctx context.Context, job ids.JobID) error {
	a.mu.Lock()
	done := a.jobs[job]
	a.mu.Unlock()
	if done != nil && sched.First(ctx, done) < 0 {
		return context.Cause(ctx)
	}
	return nil
}

// all waits for all jobs that are being archived now.
func (a *archiving) all(ctx context.Context) error {
	a.mu.Lock()
	jobs := slices.Collect(maps.Keys(a.jobs))
	a.mu.Unlock()
	slices.Sort(jobs)
	for _, job := range jobs {
		if err := a.await(ctx, job); err != nil {
			return err
		}
	}
	return nil
}

// archiveJob archives a job. That is not cut off by the end of the cluster, which waits for it.
func (s *shell) archiveJob(e archiveJob) {
	end := s.archiving.begin(e.Job)
	details := e.Details
	if details != nil { // the core may unload the job meanwhile
		copied := *details
		details = &copied
	}
	s.loop.Go(func(ctx context.Context) {
		defer end()
		if details == nil {
			var err error
			if details, err = s.detailsLeft(ctx, e); err != nil {
				s.logger.WithField("job", e.Job).WithError(err).Warn("the job is not archived, because its result cannot be read")
				return
			}
		}
		s.archive(ctx, details)
	})
}

// detailsLeft reads the description of a job that an earlier master has left.
func (s *shell) detailsLeft(ctx context.Context, e archiveJob) (*msg.JobDetails, error) {
	if err := s.reads.Acquire(ctx); err != nil {
		return nil, err
	}
	defer s.reads.Release()
	r, err := s.readResult(ctx, e.Job, e.Status)
	return r.Details, err
}
