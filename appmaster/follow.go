package appmaster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

const (
	// waitTime is how long one request for a job's end or its next page waits.
	waitTime = 10 * time.Second
	// askAgain is the pause before a question is repeated that the Dispatcher cannot answer yet: a result that another master
	// has stored must be read first, and HDFS may be away.
	askAgain = time.Second
)

// whenReady asks the Dispatcher until the answer is another one than msg.ErrNotReady.
func whenReady[R any](ctx context.Context, ask func() (R, error)) (R, error) {
	for {
		answer, err := ask()
		if !errors.Is(err, msg.ErrNotReady) {
			return answer, err
		}
		if err := sched.Sleep(ctx, askAgain); err != nil {
			return answer, err
		}
	}
}

// Wait waits for a job's end. Error: msg.ErrJobNotFound.
func (c *Component) Wait(ctx context.Context, job ids.JobID) (msg.JobEnded, error) {
	for {
		ended, err := whenReady(ctx, func() (msg.JobEnded, error) { return c.Dispatcher.JobResult(ctx, job, waitTime) })
		if err != nil || ended.Status.GloballyTerminal() {
			return ended, err
		}
	}
}

// Initialized waits until a submitted job is set up, and returns its state: FAILED with the reason if that
// was not possible. Error: msg.ErrJobNotFound.
func (c *Component) Initialized(ctx context.Context, job ids.JobID) (msg.JobEnded, error) {
	return whenReady(ctx, func() (msg.JobEnded, error) { return c.Dispatcher.Initialized(ctx, job) })
}

// collect passes on what a job collects under a name, until its end. A batch of a new epoch voids the
// batches of earlier epochs.
func (c *Component) collect(ctx context.Context, job ids.JobID, name string, take func(epoch int, records []byte) error) error {
	cursor := int64(0)
	for {
		page, err := whenReady(ctx, func() (msg.CollectPage, error) {
			return c.Dispatcher.CollectPage(ctx, job, name, cursor, waitTime)
		})
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
// job fails, the answer says so, and there is no error. If the job finishes, and a part of what it collected is not held
// any more, the error is msg.ErrResultGone. If ctx ends or collected returns an error, Follow returns, and the job
// continues.
func (c *Component) Follow(ctx context.Context, job ids.JobID, graph *jobgraph.JobGraph, collected func(name string, epoch int, records []byte) error) (msg.JobEnded, error) {
	following, stop := context.WithCancelCause(ctx)
	var followers sched.Group
	defer followers.Wait(ctx)
	defer stop(nil)
	one := sched.NewPermits(1)  // one call of collected at a time
	gone := make(chan error, 1) // the first result that is not complete
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
			switch {
			case errors.Is(err, msg.ErrResultGone): // if the job fails, that is the reason
				select {
				case gone <- fmt.Errorf("read result %q of job %s: %w", v.Collect, job, err):
				default:
				}
			case err != nil:
				stop(err)
			}
		})
	}
	ended, err := c.Wait(following, job)
	if err == nil && ended.Failure == nil {
		followers.Wait(ctx) // the rest of what it collected
		if len(gone) > 0 && ended.Status == msg.JobFinished {
			err = <-gone
		}
	}
	if cause := context.Cause(following); err == nil && cause != nil {
		err = cause
	}
	return ended, err
}
