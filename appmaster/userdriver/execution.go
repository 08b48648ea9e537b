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
	some  bool         // whether a job was taken in
	last  msg.JobEnded // how the last job ended, if it was waited for or not taken in
}

// said is what a program says: a job, or why no other follows.
type said struct {
	graph jobgraph.JobGraph
	leave func() // gives back the room of the job; whoever receives this calls it once
	err   error
}

// Serve runs jobs until the program ends, and gives the reason, as driver.Next has it: io.EOF of
// one that has ended well. last is how its last job ended, if that was waited for or not taken in.
// Serve closes the program's connection, and leaves jobs that run then to themselves. It is called once.
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
	// Whatever is being told or heard then ends with ctx.
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

// listen hears what the program says, until it says why no other word follows.
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

// tell tells the program something. It need not hear that: how it ended, Next says.
func (x *execution) tell(m msg.Message) { _ = x.driver.Tell(m) }

// execute runs one job. A program that ends meanwhile is an error; one that says more
// has several jobs executed at once, which nothing could tell apart.
func (x *execution) execute(ctx context.Context, next *said) error {
	graph := &next.graph
	for _, warning := range graph.Warnings() {
		x.drivers.Note(x.program.Log, warning)
	}
	job, err := x.submit(ctx, graph)
	next.leave() // the Dispatcher has room of its own for it
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

// follow tells the program what its job collects, and how it ends.
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
				continue // it has ended, and its last word says how
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
			_ = x.driver.HangUp() // the follower may be telling one that does not listen
			if next.err != nil {
				return next.err
			}
			return errSeveralJobs
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// errNotHeard is a program that has ended while its job goes on.
var errNotHeard = errors.New("the program has ended")

// errSeveralJobs is a program that does not wait for the end of its job.
var errSeveralJobs = errors.New("the program executes several jobs at once: let each Execute return before the next, or run them detached")
