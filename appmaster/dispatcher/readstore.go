package dispatcher

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/bobbin-yarn/bobbin/appmaster/budget"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// atOnce is how many jobs or results are read, and how many changes are made, at the same time.
const atOnce = 16

// ReadStore reads what earlier masters have left: the jobs that have not ended, and the ids of those that have. A job that
// cannot be read is no error: it has RecoveredJob.Err. Errors: ha.ErrSuperseded, ha.ErrNothing, the cause of ctx, and errors of storage
// that no retry mends.
func ReadStore(ctx context.Context, store Store) (Recovered, error) {
	results, err := store.Results(ctx)
	if err != nil {
		return Recovered{}, fmt.Errorf("recover jobs: list results: %w", err)
	}
	entries, err := store.Jobs(ctx)
	if err != nil {
		return Recovered{}, fmt.Errorf("recover jobs: %w", err)
	}
	r := Recovered{Results: results}
	if r.Stopped, err = store.Stopped(ctx); err != nil {
		return Recovered{}, fmt.Errorf("recover jobs: %w", err)
	}
	ended := make(map[ids.JobID]bool, len(results))
	for _, e := range results {
		ended[e.ID] = true
	}
	jobs, err := readJobs(ctx, store, entries, func(ctx context.Context, e ha.JobEntry, r *RecoveredJob) (err error) {
		if e.Committed && !ended[e.ID] {
			r.Commits, err = store.Commits(ctx, e.ID)
		}
		return err
	})
	if err != nil {
		return Recovered{}, err
	}
	for _, job := range jobs {
		if ended[job.Submission.Job] {
			r.Leftovers = append(r.Leftovers, job)
		} else {
			r.Jobs = append(r.Jobs, job)
		}
	}
	return r, nil
}

// ReadJobs reads accepted jobs without what they have committed. Errors are those of ReadStore.
func ReadJobs(ctx context.Context, store ha.JobReader) ([]RecoveredJob, error) {
	entries, err := store.Jobs(ctx)
	if err != nil {
		return nil, fmt.Errorf("recover jobs: %w", err)
	}
	return readJobs(ctx, store, entries, func(context.Context, ha.JobEntry, *RecoveredJob) error { return nil })
}

// readJobs reads jobs, and more of each that can be read, in the order of their submission.
func readJobs(ctx context.Context, store ha.JobReader, entries []ha.JobEntry, more func(context.Context, ha.JobEntry, *RecoveredJob) error) ([]RecoveredJob, error) {
	jobs := make([]RecoveredJob, len(entries))
	unread := make(chan int, len(entries))
	for i, e := range entries {
		jobs[i] = RecoveredJob{Submission: Submission{Job: e.ID}, Cancelled: e.Cancelled}
		unread <- i
	}
	close(unread)
	group, reading := sched.WithErrors(ctx)
	for range min(len(jobs), atOnce) {
		group.Go(func() error {
			for i := range unread { // never blocks
				err := jobs[i].read(reading, store)
				if err == nil {
					err = more(reading, entries[i], &jobs[i])
				}
				if errors.Is(err, ha.ErrSuperseded) || errors.Is(err, ha.ErrNothing) || reading.Err() != nil { // nothing more can be read
					return fmt.Errorf("recover job %s: %w", entries[i].ID, cmp.Or(err, context.Cause(reading)))
				}
				jobs[i].Err = cmp.Or(jobs[i].Err, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(jobs, func(a, b RecoveredJob) int {
		return cmp.Or(a.Submitted.Compare(b.Submitted), cmp.Compare(a.Submission.Job, b.Submission.Job))
	})
	return jobs, nil
}

// read reads the job that has only an id.
func (r *RecoveredJob) read(ctx context.Context, store ha.JobReader) error {
	stored, err := store.Job(ctx, r.Submission.Job)
	if err == nil {
		r.decode(stored)
	}
	return err
}

// decode decodes a job. Afterwards Err says why it cannot run.
func (r *RecoveredJob) decode(stored ha.Job) {
	s, submitted, err := decodeSubmission(r.Submission.Job, stored.Submitted)
	if err != nil {
		r.Err = err
		return
	}
	r.Submission, r.Submitted = s, submitted
	var graph jobgraph.JobGraph
	if err := json.Unmarshal(stored.Graph, &graph); err != nil {
		r.Err = fmt.Errorf("%w: its graph: %w", errMalformed, err)
		return
	}
	r.Submission.Graph = &graph
	r.Err = graph.Validate()
	if r.Err == nil {
		r.Need = budget.NeedOf(&graph, !s.Detached)
	}
}
