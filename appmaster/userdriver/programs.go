package userdriver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/driver"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// planTime is how long a program may take until it executes its first job.
const planTime = 4 * time.Minute

// errSlowPlan is the cause of the end of a program that takes longer.
var errSlowPlan = fmt.Errorf("%w: it executed no job within %s", msg.ErrBadProgram, planTime)

// Store keeps the programs of a session. Its methods may be called from any goroutine.
type Store interface {
	// Hold keeps a program from being removed. Release must be called as often as Hold.
	Hold(ctx context.Context, sha256 string) (msg.Program, error)
	Release(sha256 string)
	// Fetch makes a local file of a program that is held. The caller removes the file.
	Fetch(ctx context.Context, program msg.Program, dir string) (path string, err error)
}

// Run is a request to run a program of a session.
type Run struct {
	SHA256    string
	Arguments []string
	Job       ids.JobID         // of the first job; "": any
	Options   map[string]string // override those of the session
}

// Programs plans and runs the programs that the users of a session request, a few at a time. Make it with
// NewPrograms. Serve owns the programs that continue after their first job. The methods may be called from
// any goroutine.
type Programs struct {
	drivers *Drivers
	store   Store
	dir     string // for programs that run
	places  *places
	started chan func(context.Context) // from Run to Serve; never closed
}

// NewPrograms makes Programs that run at most the given number at a time. Running programs lie in dir.
func NewPrograms(drivers *Drivers, store Store, dir string, most int) *Programs {
	return &Programs{drivers: drivers, store: store, dir: dir, places: newPlaces(most), started: make(chan func(context.Context))}
}

// Serve runs programs until ctx ends, and returns its cause. It waits for the programs.
func (p *Programs) Serve(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		select {
		case drive := <-p.started:
			running.Go(func() { drive(ctx) })
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// List returns the running programs, the oldest first.
func (p *Programs) List() []msg.DriverDetails { return p.places.list() }

// End ends a program, and waits for its end. Its jobs continue. Errors: msg.ErrDriverNotFound,
// msg.ErrNotReady.
func (p *Programs) End(ctx context.Context, id string) error { return p.places.stop(ctx, id) }

// Plan runs a program until it has planned its first job, and ends it. The error wraps msg.ErrNotReady, or
// msg.ErrBadProgram if the program causes it.
func (p *Programs) Plan(ctx context.Context, run Run) (graph jobgraph.JobGraph, err error) {
	at, err := p.places.enter(ctx, msg.Program{SHA256: run.SHA256})
	if err != nil {
		return graph, err
	}
	defer at.leave()
	ctx, stop := at.under(ctx)
	defer stop(nil)
	ctx, end := context.WithTimeoutCause(ctx, planTime, errSlowPlan)
	defer end()
	started, err := p.start(ctx, at, run, Program{}) // not detached: a job that collects something cannot run detached, but has a plan
	if err != nil {
		return graph, err
	}
	leave := func() {}
	defer func() {
		err = errors.Join(err, started.Close())
		leave()
	}()
	var job msg.ExecuteJob
	job, leave, err = started.child.Next(ctx)
	return job.Graph, badProgram(ctx, started.Explain(err))
}

// Run runs a program as a driver that does not wait for its jobs, and returns the id of the first. The
// program then continues until it ends by itself or with Serve. Errors are those of Plan and of
// Cluster.Submit.
func (p *Programs) Run(ctx context.Context, run Run) (ids.JobID, error) {
	type answer struct {
		job ids.JobID
		err error
	}
	first := make(chan answer, 1) // nothing receives later answers
	tell := func(a answer) {
		select {
		case first <- a:
		default:
		}
	}
	at, err := p.places.enter(ctx, msg.Program{SHA256: run.SHA256}) // before the program starts: REST bounds the requests that may wait here
	if err != nil {
		return "", err
	}
	drive := func(living context.Context) {
		defer at.leave()
		err := p.drive(living, at, run, func(job ids.JobID, err error) { tell(answer{job, err}) })
		tell(answer{err: err})
		p.drivers.logger.WithFields(logrus.Fields{"program": run.SHA256, "err": err}).Info("program has ended")
	}
	select {
	case p.started <- drive:
	case <-ctx.Done():
		at.leave()
		return "", context.Cause(ctx)
	}
	select {
	case a := <-first:
		return a.job, a.err
	case <-ctx.Done(): // the program continues
		return "", context.Cause(ctx)
	}
}

// drive runs a program to its end. For each job it calls submitted. It returns an error if the program
// fails.
func (p *Programs) drive(ctx context.Context, at *place, run Run, submitted func(ids.JobID, error)) (err error) {
	ctx, end := at.under(ctx)
	defer end(nil)
	late := time.AfterFunc(planTime, func() { end(errSlowPlan) })
	defer late.Stop()
	started, err := p.start(ctx, at, run, Program{Detached: true, Job: run.Job, submitted: func(job ids.JobID, err error) {
		late.Stop()
		if err == nil {
			at.submitted(job)
		}
		submitted(job, err)
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, started.Close()) }()
	if _, err := started.Serve(ctx); !errors.Is(err, io.EOF) {
		if ctx.Err() == nil {
			p.drivers.Note(started.program.Log, started.Reason(err).Error())
		}
		return badProgram(ctx, started.Explain(err))
	}
	return nil
}

// start starts a program of the session that has a place.
func (p *Programs) start(ctx context.Context, at *place, run Run, program Program) (_ *Process, err error) {
	if program.Options, err = p.drivers.config.Options.With(config.Layer{Source: "request", Values: run.Options}); err != nil {
		return nil, err
	}
	if err := config.Validate(program.Options); err != nil {
		return nil, err
	}
	var after []func() error
	defer func() {
		if err != nil {
			err = errors.Join(err, runAll(after))
		}
	}()
	held, err := p.store.Hold(ctx, run.SHA256)
	if err != nil {
		return nil, err
	}
	at.named(held)
	after = append(after, func() error { p.store.Release(run.SHA256); return nil })
	path, err := p.store.Fetch(ctx, held, p.dir)
	if err != nil {
		return nil, err
	}
	after = append(after, func() error { return os.Remove(path) })
	program.File, program.SHA256, program.Arguments, program.Log = path, run.SHA256, run.Arguments, Log+"-"+held.Name
	started, err := p.drivers.Start(ctx, program)
	if err != nil {
		return nil, badProgram(ctx, err)
	}
	at.begun(started.child.PID())
	started.after = append(after, started.after...)
	return started, nil
}

// badProgram marks errors that the program causes, unless ctx has ended.
func badProgram(ctx context.Context, err error) error {
	var plan *driver.PlanError
	switch {
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case errors.As(err, &plan), errors.Is(err, driver.ErrExit), errors.Is(err, driver.ErrNoJob), errors.Is(err, driver.ErrProtocolVersion):
		return fmt.Errorf("%w: %w", msg.ErrBadProgram, err)
	}
	return err
}
