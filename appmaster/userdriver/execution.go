package userdriver

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// execution runs the jobs that a program executes.
type execution struct {
	*Process
	word     said          // the newest; listen writes it, sends to heard, and writes again only after taken
	heard    chan struct{} // capacity 1, so that nobody blocks; an element means that word is new
	taken    chan struct{} // likewise; an element means that word is read
	accepted int           // number of jobs that the cluster has accepted
	last     msg.JobEnded  // the end of the last job for which the program waited, or which the cluster refused
}

// said is what a program has sent: a job, or the reason why no other follows.
type said struct {
	job   msg.ExecuteJob
	leave func() // gives back the room of the job; the receiver calls it once
	err   error
}

// Serve runs jobs until the program ends, and returns the reason as driver.Next does: io.EOF if the program
// has succeeded. last is the end of the last job for which the program waited, or which the cluster
// refused. Serve closes the program's connection. Jobs that still run continue. Call it once.
func (p *Process) Serve(ctx context.Context) (last msg.JobEnded, err error) {
	x := execution{Process: p, heard: make(chan struct{}, 1), taken: make(chan struct{}, 1)}
	err = x.serve(ctx)
	return x.last, err
}

func (x *execution) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var listening sched.Group
	defer func() {
		cancel(nil)
		listening.Wait(ctx)
		if len(x.heard) > 0 { // nobody has taken the word
			x.word.leave()
		}
	}()
	// This ends all sending and receiving with ctx.
	sched.OnEnd(ctx, func() { _ = x.child.HangUp() })
	listening.Go(ctx, func() { x.listen(ctx) }) // ends with the program, at the latest with ctx
	for {
		switch sched.First(ctx, x.renewed, x.heard) { // a program with many jobs must not keep its tokens waiting
		case 0:
			x.renew()
		case 1:
			next := x.take()
			if next.err != nil {
				return next.err
			}
			if err := x.execute(ctx, &next); err != nil {
				return err
			}
		default:
			return context.Cause(ctx)
		}
	}
}

// listen receives jobs from the program, until no other follows. It is one job ahead at most, because a job
// takes memory.
func (x *execution) listen(ctx context.Context) {
	for {
		job, leave, err := x.child.Next(ctx)
		x.word = said{job, leave, err}
		x.heard <- struct{}{} // never blocks
		if err != nil || sched.First(ctx, x.taken) < 0 {
			return
		}
	}
}

// take returns the word that was heard, and lets listen continue.
func (x *execution) take() said {
	word := x.word
	x.word = said{}       // its room is given back before the next word comes
	x.taken <- struct{}{} // never blocks
	return word
}

// tell sends a message to the program. It ignores errors, because Next reports how the program ended.
func (x *execution) tell(m msg.Message) { _ = x.child.Tell(m) }

// renew sends the newest tokens to the program.
func (x *execution) renew() { x.tell(msg.UpdateTokens{Tokens: x.drivers.tokensOf(x.Process)}) }

// execute runs one job. If the program has to prepare the job first, execute only tells it so. It returns an error if the
// program ends meanwhile, or executes a second job: messages about two jobs could not be told apart.
func (x *execution) execute(ctx context.Context, next *said) error {
	graph := &next.job.Graph
	if !next.job.Unprepared {
		for _, warning := range graph.Warnings() {
			x.drivers.Note(x.program.Log, warning)
		}
	}
	job, err := x.submit(ctx, &next.job)
	next.leave() // the Dispatcher has reserved its own memory for the job
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		if errors.Is(err, msg.ErrNotPrepared) {
			x.tell(msg.PrepareJob{})
			return nil
		}
		x.last = msg.JobEnded{Status: msg.JobFailed, Failure: msg.NewFailure(err.Error(), "")}
		x.tell(x.last)
		return nil
	}
	x.tell(msg.JobAccepted{Job: job, Application: x.drivers.config.Application})
	if x.program.Detached {
		return nil
	}
	return x.follow(ctx, job, graph)
}

// submit submits a job. Its id counts only accepted jobs: a program that runs again may find room for a job that was refused
// before, or the other way round.
func (x *execution) submit(ctx context.Context, executed *msg.ExecuteJob) (ids.JobID, error) {
	job := x.program.Job
	if job == "" || x.accepted > 0 {
		job = x.drivers.config.newJob(x.accepted)
	}
	err := x.drivers.cluster.Submit(ctx, x.program, job, executed)
	if err == nil {
		x.accepted++
	}
	if err == nil && x.program.Detached { // otherwise follow returns the reason of a failure
		err = x.initialized(ctx, job, &executed.Graph)
	}
	if x.program.submitted != nil {
		x.program.submitted(job, err)
	}
	return job, err
}

// initialized waits until a job is set up. If that fails, the error has the reason.
func (x *execution) initialized(ctx context.Context, job ids.JobID, graph *jobgraph.JobGraph) error {
	state, err := x.drivers.cluster.Initialized(ctx, job)
	if err == nil && state.Status == msg.JobFailed {
		return fmt.Errorf("job %s is %s: %w", graph.Name, state.Status, state.Failure)
	}
	return err
}

// follow sends the program what its job collects, and how the job ends.
func (x *execution) follow(ctx context.Context, job ids.JobID, graph *jobgraph.JobGraph) error {
	following, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var ended msg.JobEnded // it and err are read after over
	var err error
	over := make(chan struct{}, 1)
	var followed sched.Group
	defer followed.Wait(ctx)
	defer stop(nil)
	followed.Go(ctx, func() {
		ended, err = x.drivers.cluster.Follow(following, job, graph, func(name string, epoch int, records []byte) error {
			if err := x.child.Tell(msg.CollectedRecords{Name: name, Epoch: epoch, Records: records}); err != nil {
				return fmt.Errorf("%w: %w", errNotHeard, err)
			}
			return nil
		})
		over <- struct{}{}
	})
	for {
		switch sched.First(ctx, over, x.heard, x.renewed) {
		case 0:
			if errors.Is(err, errNotHeard) {
				continue // the program has ended, and listen receives the reason
			}
			if err != nil {
				return err
			}
			x.last = ended
			x.tell(ended)
			return nil
		case 1:
			next := x.take()
			next.leave()
			_ = x.child.HangUp() // the follower may be sending to a program that does not receive
			if next.err != nil {
				return next.err
			}
			return cmp.Or(context.Cause(ctx), errSeveralJobs)
		case 2:
			x.renew()
		default:
			return context.Cause(ctx)
		}
	}
}

// errNotHeard says that the program has ended while its job continues.
var errNotHeard = errors.New("the program has ended")

// errSeveralJobs says that a program does not wait for the end of its job.
var errSeveralJobs = errors.New("the program executes several jobs at once: let each Execute return before the next, or run them detached")
