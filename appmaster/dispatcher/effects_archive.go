package dispatcher

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// Archiver archives a job that has ended, for history servers. If it fails, it is called again later. It may also be called
// again for a job that is archived, and from any goroutine. When the job's turn has come, it calls job, once at
// most: job may read the description from the store, and thousands of them have no room in memory. It does not change what job
// returns, and does not call job after its own return.
type Archiver func(ctx context.Context, job func(context.Context) (*msg.JobDetails, error)) error

// ArchiveBy names what archives jobs, if Config.Archives is true. Call it before Run.
func (d *Dispatcher) ArchiveBy(a Archiver) { d.archive = a }

// Archived waits until all jobs that have ended are archived, or given up. Before that the cluster must not end: no later
// master would archive them. If ctx ends before, the error wraps its cause and names jobs that are not archived.
func (d *Dispatcher) Archived(ctx context.Context) error { return d.archiving.all(ctx) }

// archiving are the jobs that are neither archived nor given up.
type archiving struct {
	mu   sync.Mutex // guards jobs
	jobs map[ids.JobID]chan struct{}
}

// begin notes that a job is to be archived, until end is called. It may be called again meanwhile.
func (a *archiving) begin(job ids.JobID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.jobs[job] == nil {
		a.jobs[job] = make(chan struct{})
	}
}

func (a *archiving) end(job ids.JobID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if done := a.jobs[job]; done != nil { // otherwise it was given up before any try
		delete(a.jobs, job)
		close(done)
	}
}

// await waits until a job is archived or given up.
func (a *archiving) await(ctx context.Context, job ids.JobID) error {
	a.mu.Lock()
	done := a.jobs[job]
	a.mu.Unlock()
	if done != nil && sched.First(ctx, done) < 0 {
		return context.Cause(ctx)
	}
	return nil
}

// mostNamed bounds the jobs that an error of all names.
const mostNamed = 10

// all waits for all jobs that are to be archived now.
func (a *archiving) all(ctx context.Context) error {
	for _, job := range a.list() {
		if err := a.await(ctx, job); err != nil {
			left := a.list()
			return fmt.Errorf("archive %d jobs, among them %v: %w", len(left), left[:min(len(left), mostNamed)], err)
		}
	}
	return nil
}

func (a *archiving) list() []ids.JobID {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.jobs))
}

// archiveJob tries to archive a job. That is not cut off by the end of the cluster, which waits for it.
func (s *shell) archiveJob(e archiveJob) {
	s.archiving.begin(e.Job)
	s.loop.Go(func(ctx context.Context) {
		tried := archiveTried{Job: e.Job}
		var read *msg.JobDetails
		tried.Err = s.archive(ctx, func(ctx context.Context) (*msg.JobDetails, error) {
			if e.Details != nil {
				return e.Details, nil
			}
			var err error
			read, err = s.detailsLeft(ctx, e)
			tried.Unreadable = err != nil && ctx.Err() == nil // the store itself repeats what an outage delays
			return read, err
		})
		if tried.Err != nil {
			tried.Read = read
		}
		s.loop.Tell(ctx, tried)
	})
}

// detailsLeft reads the description of a job that an earlier master has left.
func (s *shell) detailsLeft(ctx context.Context, e archiveJob) (*msg.JobDetails, error) {
	if err := s.reads.Acquire(ctx); err != nil {
		return nil, err
	}
	defer s.reads.Release()
	r, err := s.readResult(ctx, e.Job, e.Status)
	if err != nil {
		return nil, fmt.Errorf("read its result: %w", err)
	}
	return r.Details, nil
}
