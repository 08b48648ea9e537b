package userdriver

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// execution runs the jobs that a program executes.
type execution struct {
	*Process
	words chan said
	some  bool         // whether the cluster has accepted a job
	last  msg.JobEnded // the end of the last job for which the program waited, or which the cluster refused
}

// said is what a program has sent: a job, or the reason why no other follows.
type said struct {
	graph jobgraph.JobGraph
	leave func() // gives back the room of the job; the receiver calls it once
	err   error
}

// Serve runs jobs until the program ends, and returns the reason as driver.Next does: io.EOF if the program
// has succeeded. last is the end of the last job for which the program waited, or which the cluster
// refused. Serve closes the program's connection. Jobs that still run continue. Call it once.
func (p *Process) Serve(ctx context.Context) (last msg.JobEnded, err error) {
	x := execution{Process: p, words: make(chan said)}
	err = x.serve(ctx)
	return x.last, err
}

func (x *execution) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var listening sync.WaitGroup
	defer listening.Wait()
	defer cancel(nil)
	// This ends all sending and receiving with ctx.
	context.AfterFunc(ctx, func() { _ = x.driver.HangUp() })
	listening.Go(func() { x.listen(ctx) }) // ends with the program, at the latest with ctx
	for {
		var next said
		select {
		case next = <-x.words:
		case tokens := <-x.tokens:
			x.tell(msg.UpdateTokens{Tokens: tokens})
			continue
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if next.err != nil {
			return next.err
		}
		if err := x.execute(ctx, &next); err != nil {
			return err
		}
	}
}

// listen receives jobs from the program, until no other follows.
func (x *execution) listen(ctx context.Context) {
	for {
		graph, leave, err := x.driver.Next(ctx)
		select {
		case x.words <- said{graph, leave, err}:
		case <-ctx.Done():
			leave()
			return
		}
		if err != nil {
			return
		}
	}
}

// tell sends a message to the program. It ignores errors, because Next reports how the program ended.
func (x *execution) tell(m msg.Message) { _ = x.driver.Tell(m) }

// execute runs one job. It returns an error if the program ends meanwhile, or executes a second job:
// messages about two jobs could not be told apart.
func (x *execution) execute(ctx context.Context, next *said) error {
	graph := &next.graph
	for _, warning := range graph.Warnings() {
		x.drivers.Note(x.program.Log, warning)
	}
	job, err := x.submit(ctx, graph)
	next.leave() // the Dispatcher has reserved its own memory for the job
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		x.last = msg.JobEnded{Status: msg.JobFailed, Failure: msg.NewFailure(err.Error(), "")}
		x.tell(x.last)
		return nil
	}
	x.some = true
	x.tell(msg.JobAccepted{Job: job, Application: x.drivers.config.Application})
	if x.program.Detached {
		return nil
	}
	return x.follow(ctx, job, graph)
}

func (x *execution) submit(ctx context.Context, graph *jobgraph.JobGraph) (ids.JobID, error) {
	job := x.program.Job
	if job == "" || x.some {
		job = ids.JobID(ids.Random())
	}
	err := x.drivers.cluster.Submit(ctx, x.program, job, graph)
	if x.program.submitted != nil {
		x.program.submitted(job, err)
	}
	return job, err
}

// follow sends the program what its job collects, and how the job ends.
func (x *execution) follow(ctx context.Context, job ids.JobID, graph *jobgraph.JobGraph) error {
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
		ended, err := x.drivers.cluster.Follow(following, job, graph, func(name string, epoch int, records []byte) error {
			if err := x.driver.Tell(msg.CollectedRecords{Name: name, Epoch: epoch, Records: records}); err != nil {
				return fmt.Errorf("%w: %w", errNotHeard, err)
			}
			return nil
		})
		outcomes <- outcome{ended, err}
	})
	for {
		select {
		case o := <-outcomes:
			if errors.Is(o.err, errNotHeard) {
				continue // the program has ended, and listen receives the reason
			}
			if o.err != nil {
				return o.err
			}
			x.last = o.ended
			x.tell(o.ended)
			return nil
		case tokens := <-x.tokens:
			x.tell(msg.UpdateTokens{Tokens: tokens})
		case next := <-x.words:
			next.leave()
			_ = x.driver.HangUp() // the follower may be sending to a program that does not receive
			if next.err != nil {
				return next.err
			}
			return errSeveralJobs
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// errNotHeard says that the program has ended while its job continues.
var errNotHeard = errors.New("the program has ended")

// errSeveralJobs says that a program does not wait for the end of its job.
var errSeveralJobs = errors.New("the program executes several jobs at once: let each Execute return before the next, or run them detached")
