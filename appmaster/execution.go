package appmaster

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// execution runs the jobs that a driver executes. It serves one driver, once.
type execution struct {
	component *Component
	drivers   drivers
	detached  bool // Execute returns once its job runs
	// submit takes a job in.
	submit func(ctx context.Context, graph *jobgraph.JobGraph) (ids.JobID, error)
	// Of the jobs so far:
	some bool         // whether one was taken in
	last msg.JobEnded // how the last one ended, if it was waited for or not taken in
}

// said is what a driver says: a job, or why no other follows.
type said struct {
	graph jobgraph.JobGraph
	err   error
}

// serve runs jobs until the driver ends, and gives the reason, as driver.Next has it.
// It closes the driver's connection, and leaves jobs that run then to themselves.
func (e *execution) serve(ctx context.Context, d *child) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var listening sync.WaitGroup
	defer listening.Wait()
	defer cancel(nil)
	// Whatever is being told or heard then ends with ctx.
	context.AfterFunc(ctx, func() { _ = d.HangUp() })
	words := make(chan said)
	listening.Go(func() { // ends with the driver, at the latest with ctx
		for {
			graph, err := d.Next(ctx)
			select {
			case words <- said{graph, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	})
	for {
		var next said
		select {
		case next = <-words:
		case tokens := <-d.tokens:
			_ = d.Tell(msg.UpdateTokens{Tokens: tokens})
			continue
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if next.err != nil {
			return next.err
		}
		if err := e.execute(ctx, d, &next.graph, words); err != nil {
			return err
		}
	}
}

// execute runs one job. A driver that ends meanwhile is an error; one that says more
// has several jobs executed at once, which nothing could tell apart. What it is told it
// need not hear: how it ended, Next says.
func (e *execution) execute(ctx context.Context, d *child, graph *jobgraph.JobGraph, words <-chan said) error {
	for _, warning := range graph.Warnings() {
		e.drivers.note(d.log, warning)
	}
	job, err := e.submit(ctx, graph)
	d.Release() // the Dispatcher has room of its own for it
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		e.last = msg.JobEnded{Status: msg.JobFailed, Failure: msg.NewFailure(err.Error(), "")}
		_ = d.Tell(e.last)
		return nil
	}
	e.some = true
	_ = d.Tell(msg.JobAccepted{Job: job, Application: e.drivers.application})
	if e.detached {
		return nil
	}
	following, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	type outcome struct {
		ended msg.JobEnded
		err   error
	}
	outcomes := make(chan outcome, 1)
	var followed sync.WaitGroup
	defer followed.Wait()
	defer stop(nil)
	followed.Go(func() {
		last, err := e.component.Follow(following, job, graph, func(name string, epoch int, records []byte) error {
			if err := d.Tell(msg.CollectedRecords{Name: name, Epoch: epoch, Records: records}); err != nil {
				return fmt.Errorf("%w: %w", errNotHeard, err)
			}
			return nil
		})
		outcomes <- outcome{last, err}
	})
	for {
		select {
		case o := <-outcomes:
			if errors.Is(o.err, errNotHeard) {
				continue // it has ended, and its last word says how
			}
			if o.err != nil {
				return o.err
			}
			e.last = o.ended
			_ = d.Tell(o.ended)
			return nil
		case tokens := <-d.tokens:
			_ = d.Tell(msg.UpdateTokens{Tokens: tokens})
		case next := <-words:
			_ = d.HangUp() // the follower may be telling one that does not listen
			if next.err != nil {
				return next.err
			}
			return errSeveralJobs
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// errNotHeard is a driver that has ended while its job goes on.
var errNotHeard = errors.New("the program has ended")

// errSeveralJobs is a driver that does not wait for the end of its job.
var errSeveralJobs = errors.New("the program executes several jobs at once: let each Execute return before the next, or run them detached")
