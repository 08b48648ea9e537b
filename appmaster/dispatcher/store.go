package dispatcher

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// Store is what outlives the Dispatcher; an ha.Store has it.
type Store interface {
	ha.JobStore
	ha.ResultStore
	Stop(ctx context.Context) error
	Stopped(ctx context.Context) (bool, error)
}

// keeper keeps jobs and results: as a Store does, but not encoded.
type keeper interface {
	addJob(ctx context.Context, s Submission, submitted time.Time) error
	cancel(ctx context.Context, job ids.JobID) error
	addResult(ctx context.Context, job ids.JobID, r result) error
	// overview reads what the list of jobs needs of a result.
	overview(ctx context.Context, job ids.JobID, status msg.JobStatus) (result, error)
	// result reads a result. Before it reads a large one, it calls wait.
	result(ctx context.Context, job ids.JobID, status msg.JobStatus, wait func(size int) error) (result, error)
	removeJob(ctx context.Context, job ids.JobID) error
	removeResult(ctx context.Context, job ids.JobID) error
	stop(ctx context.Context) error
}

// keeperOf returns the keeper of a Store, which may be nil.
func keeperOf(s Store) keeper {
	if s == nil {
		return nowhere{}
	}
	return stored{s}
}

// stored keeps jobs and results in a Store.
type stored struct{ store Store }

func (k stored) addJob(ctx context.Context, s Submission, at time.Time) error {
	graph, err := json.Marshal(s.Graph)
	if err != nil {
		return fmt.Errorf("encode the graph of job %s: %w", s.Job, err)
	}
	how, err := encodeSubmission(s, at)
	if err != nil {
		return err
	}
	return k.store.AddJob(ctx, s.Job, ha.Job{Graph: graph, Submitted: how})
}

func (k stored) addResult(ctx context.Context, job ids.JobID, r result) error {
	body, err := encodeResult(r)
	if err != nil {
		return fmt.Errorf("encode the result of job %s: %w", job, err)
	}
	return k.store.AddResult(ctx, job, r.Details.Status, body)
}

// head reads the beginning of a result, and perhaps all of it.
func (k stored) head(ctx context.Context, job ids.JobID, status msg.JobStatus) (start []byte, h resultHead, err error) {
	for most := headSize; most > 0; {
		if start, err = k.store.ResultHead(ctx, job, int64(most)); err != nil {
			return nil, h, err
		}
		short := len(start) < most
		if h, most, err = decodeHead(start, job, status); err != nil {
			return nil, h, err
		}
		if most > 0 && short {
			return nil, h, fmt.Errorf("%w: its result is cut off", errMalformed)
		}
	}
	return start, h, nil
}

func (k stored) overview(ctx context.Context, job ids.JobID, status msg.JobStatus) (result, error) {
	_, h, err := k.head(ctx, job, status)
	if err != nil {
		return result{}, err
	}
	return h.result(), nil
}

func (k stored) result(ctx context.Context, job ids.JobID, status msg.JobStatus, wait func(size int) error) (result, error) {
	body, h, err := k.head(ctx, job, status)
	if err == nil && h.whole() > headSize {
		if err = wait(h.whole()); err == nil {
			body, err = k.store.Result(ctx, job)
		}
	}
	if err != nil {
		return result{}, err
	}
	return decodeResult(body, job, status)
}

func (k stored) cancel(ctx context.Context, job ids.JobID) error { return k.store.Cancel(ctx, job) }

func (k stored) removeJob(ctx context.Context, job ids.JobID) error {
	return k.store.RemoveJob(ctx, job)
}

func (k stored) removeResult(ctx context.Context, job ids.JobID) error {
	return k.store.RemoveResult(ctx, job)
}

func (k stored) stop(ctx context.Context) error { return k.store.Stop(ctx) }

// nowhere keeps nothing, for a cluster whose jobs end with its process: a copy of each job and result would only take
// memory.
type nowhere struct{}

func (nowhere) addJob(context.Context, Submission, time.Time) error { return nil }
func (nowhere) cancel(context.Context, ids.JobID) error             { return nil }
func (nowhere) addResult(context.Context, ids.JobID, result) error  { return nil }
func (nowhere) removeJob(context.Context, ids.JobID) error          { return nil }
func (nowhere) removeResult(context.Context, ids.JobID) error       { return nil }
func (nowhere) stop(context.Context) error                          { return nil }
func (nowhere) overview(context.Context, ids.JobID, msg.JobStatus) (result, error) {
	return result{}, fs.ErrNotExist
}

func (nowhere) result(context.Context, ids.JobID, msg.JobStatus, func(int) error) (result, error) {
	return result{}, fs.ErrNotExist
}
