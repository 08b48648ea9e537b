package appmaster

import (
	"context"
	"errors"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// waitTime is how long one request for a job's end or its next page waits.
const waitTime = 10 * time.Second

// Wait waits for a job's end. Error: msg.ErrJobNotFound.
func (c *Component) Wait(ctx context.Context, job ids.JobID) (msg.JobEnded, error) {
	for {
		ended, err := c.Dispatcher.JobResult(ctx, job, waitTime)
		if err != nil || ended.Status.GloballyTerminal() {
			return ended, err
		}
	}
}

// Initialized waits until a submitted job is set up, and returns its state: FAILED with the reason if that
// was not possible. Error: msg.ErrJobNotFound.
func (c *Component) Initialized(ctx context.Context, job ids.JobID) (msg.JobEnded, error) {
	return c.Dispatcher.Initialized(ctx, job)
}

// collect passes on what a job collects under a name, until its end. A batch of a new epoch voids the
// batches of earlier epochs.
func (c *Component) collect(ctx context.Context, job ids.JobID, name string, take func(epoch int, records []byte) error) error {
	cursor := int64(0)
	for {
		page, err := c.Dispatcher.CollectPage(ctx, job, name, cursor, waitTime)
		if err != nil {
			return err
		}
		if err := take(page.Epoch, page.Records); err != nil {
			return err
		}
		if page.End {
			return nil
		}
		cursor = page.Next
	}
}

// Follow waits for a job's end. It calls collected with what the job collects, one call at a time. If the
// job fails, the answer says so, and there is no error. If ctx ends or collected returns an error, Follow
// returns, and the job continues.
func (c *Component) Follow(ctx context.Context, job ids.JobID, graph *jobgraph.JobGraph, collected func(name string, epoch int, records []byte) error) (msg.JobEnded, error) {
	following, stop := context.WithCancelCause(ctx)
	var followers sched.Group
	defer followers.Wait(ctx)
	defer stop(nil)
	one := sched.NewPermits(1) // one call of collected at a time
	for _, v := range graph.Vertices {
		if v.Collect == "" {
			continue
		}
		followers.Go(ctx, func() {
			err := c.collect(following, job, v.Collect, func(epoch int, records []byte) error {
				if err := one.Acquire(following); err != nil {
					return err
				}
				defer one.Release()
				return collected(v.Collect, epoch, records)
			})
			// The result is gone, or the job never began: Wait returns the reason.
			if err != nil && !errors.Is(err, msg.ErrResultGone) && !errors.Is(err, msg.ErrNotReady) {
				stop(err)
			}
		})
	}
	ended, err := c.Wait(following, job)
	if err == nil && ended.Failure == nil {
		followers.Wait(ctx) // the rest of what it collected
	}
	if cause := context.Cause(following); err == nil && cause != nil {
		err = cause
	}
	return ended, err
}
