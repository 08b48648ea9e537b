package dispatcher

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// largeResult is the size of collected records, in bytes, from which results are stored one after the other: an encoded
// result takes as much memory again.
const largeResult = 1 << 20

// askStore performs the effects that the store has a part in.
func (s *shell) askStore(e effect) {
	switch e := e.(type) {
	case storeJob:
		job := e.Submission.Job
		s.change(job, storeTheJob, func(ctx context.Context) error { return s.store.addJob(ctx, e.Submission, e.Submitted) }, s.writes)
	case storeCancel:
		s.change(e.Job, storeTheCancellation, func(ctx context.Context) error { return s.store.cancel(ctx, e.Job) }, s.small)
	case storeResult:
		s.change(e.Job, storeTheResult, func(ctx context.Context) error { return s.storeResult(ctx, e) })
	case removeJob:
		s.change(e.Job, removeTheJob, func(ctx context.Context) error { return s.removeJob(ctx, e.Job) })
	case removeResult:
		s.change(e.Job, removeTheResult, func(ctx context.Context) error { return s.store.removeResult(ctx, e.Job) }, s.small)
	case loadOverview:
		s.request("job "+string(e.Job), func(ctx context.Context) (event, error) {
			r, err := s.store.overview(ctx, e.Job, e.Status)
			loaded := overviewLoaded{Job: e.Job, Identity: r.Identity, Err: err}
			if err == nil {
				loaded.Overview = r.Details.Overview()
			}
			return loaded, err
		}, s.reads)
	case storeStop:
		s.request("stop the cluster", func(ctx context.Context) (event, error) {
			err := s.store.stop(ctx)
			return stopStored{Err: err}, err
		}, s.small)
	case loadResult:
		s.request("job "+string(e.Job), func(ctx context.Context) (event, error) {
			r, err := s.readResult(ctx, e.Job, e.Status)
			return resultLoaded{Job: e.Job, Result: r, Err: err, Missing: errors.Is(err, fs.ErrNotExist)}, err
		}, s.reads)
	default: // the others are not for the store
	}
}

// readResult reads a result. One large result is read at a time.
func (s *shell) readResult(ctx context.Context, job ids.JobID, status msg.JobStatus) (result, error) {
	large := false
	defer func() {
		if large {
			s.large.Release()
		}
	}()
	return s.store.result(ctx, job, status, func(size int) error {
		if size < largeResult {
			return nil
		}
		err := s.large.Acquire(ctx)
		large = err == nil
		return err
	})
}

// change makes a change.
func (s *shell) change(job ids.JobID, c change, do func(context.Context) error, permits ...sched.Permits) {
	s.request("job "+string(job), func(ctx context.Context) (event, error) {
		err := do(ctx)
		return changed{Job: job, Change: c, Err: err}, err
	}, permits...)
}

// storeResult stores how a job has ended, and then removes the unfinished output of the job: until then the next master may
// need it. The output may take so much of a quota that the end cannot be stored. Then it goes first: a next master would only
// find that the job has failed. The removal needs no permit, because the output may be on an HDFS that does not answer.
func (s *shell) storeResult(ctx context.Context, e storeResult) error {
	status := e.Result.Details.Status
	add := func() error { return s.store.addResult(ctx, e.Job, e.Result) }
	err := holding(ctx, s.permitsFor(e.Result), add)
	if errors.Is(err, filesystem.ErrQuota) && status != msg.JobFinished {
		s.discard(ctx, e.Job, status)
		err = holding(ctx, s.permitsFor(e.Result), add)
	}
	if err == nil {
		s.discard(ctx, e.Job, status)
	}
	return err
}

// removeJob removes what is stored of a job that has ended. The earlier master that has stored its end may have died before
// it removed the output.
func (s *shell) removeJob(ctx context.Context, job ids.JobID) error {
	s.discard(ctx, job, msg.JobFailed)
	if err := s.archiving.await(ctx, job); err != nil { // the next master archives it
		return err
	}
	return holding(ctx, []sched.Permits{s.small}, func() error { return s.store.removeJob(ctx, job) })
}

// holding calls do with permits.
func holding(ctx context.Context, permits []sched.Permits, do func() error) error {
	for _, p := range permits {
		if err := p.Acquire(ctx); err != nil {
			return err
		}
		defer p.Release()
	}
	return do()
}

// request asks the store in a goroutine of its own, which needs permits, and ends with the cluster. The store may take
// long, while HDFS is away. If a later master leads, or everything was removed, this one ends: it could keep no promise.
func (s *shell) request(what string, do func(context.Context) (event, error), permits ...sched.Permits) {
	s.loop.Go(func(ctx context.Context) {
		for _, p := range permits {
			if p.Acquire(s.storing) != nil { //nolint:contextcheck // it ends with ctx, or before
				return // nobody waits for the answer any more
			}
			defer p.Release()
		}
		answer, err := do(s.storing) //nolint:contextcheck // likewise
		switch {
		case s.storing.Err() != nil: // likewise
		case errors.Is(err, ha.ErrSuperseded), errors.Is(err, ha.ErrNothing):
			s.loop.Fail(fmt.Errorf("%s: %w", what, err))
		default:
			s.loop.Tell(ctx, answer)
		}
	})
}

// permitsFor returns the permits that are needed to store a result.
func (s *shell) permitsFor(r result) []sched.Permits {
	size := 0
	for _, b := range r.Results {
		size += b.Size()
	}
	if size < largeResult {
		return []sched.Permits{s.writes}
	}
	return []sched.Permits{s.large, s.writes}
}
