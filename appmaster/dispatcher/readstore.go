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
	unread := make(chan int, len(entries))
	var committed []bool
	for _, e := range entries {
		if ended[e.ID] {
			r.Leftovers = append(r.Leftovers, e.ID)
			continue
		}
		unread <- len(r.Jobs)
		r.Jobs = append(r.Jobs, RecoveredJob{Submission: Submission{Job: e.ID}, Cancelled: e.Cancelled})
		committed = append(committed, e.Committed)
	}
	close(unread)
	group, reading := sched.WithErrors(ctx)
	for range min(len(r.Jobs), atOnce) {
		group.Go(func() error {
			for i := range unread { // never blocks
				if err := r.Jobs[i].read(reading, store, committed[i]); err != nil {
					return fmt.Errorf("recover job %s: %w", r.Jobs[i].Submission.Job, err)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return Recovered{}, err
	}
	slices.SortStableFunc(r.Jobs, func(a, b RecoveredJob) int {
		return cmp.Or(a.Submitted.Compare(b.Submitted), cmp.Compare(a.Submission.Job, b.Submission.Job))
	})
	return r, nil
}

// read reads the job that has only an id. The error says that nothing more can be read.
func (r *RecoveredJob) read(ctx context.Context, store Store, committed bool) error {
	id := r.Submission.Job
	stored, err := store.Job(ctx, id)
	if err == nil {
		r.decode(stored)
		if committed {
			r.Commits, err = store.Commits(ctx, id)
		}
	}
	if errors.Is(err, ha.ErrSuperseded) || errors.Is(err, ha.ErrNothing) || ctx.Err() != nil {
		return cmp.Or(err, context.Cause(ctx))
	}
	r.Err = cmp.Or(r.Err, err)
	return nil
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
