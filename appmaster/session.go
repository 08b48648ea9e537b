package appmaster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/programs"
	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/driver"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// session is what a session does for its users, as rest.Session has it. Make it with
// newSession; Run owns the drivers that go on after their first job.
type session struct {
	component *Component
	store     *programs.Store
	drivers   drivers
	places    *places
	started   chan func(context.Context) // from RunProgram to Run; never closed
}

func newSession(component *Component, store *programs.Store, d drivers) *session {
	return &session{
		component: component, store: store, drivers: d,
		places: newPlaces(), started: make(chan func(context.Context)),
	}
}

// Run runs drivers until ctx ends, its cause. It waits for them.
func (s *session) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		select {
		case drive := <-s.started:
			running.Go(func() { drive(ctx) })
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// SubmitJob takes a job in whose program the session has.
func (s *session) SubmitJob(ctx context.Context, job restapi.JobSubmission) error {
	return s.submit(ctx, job.Program.SHA256, dispatcher.Submission{
		Job: job.Job, Graph: &job.Graph, Detached: !job.Attached, ClientTimeout: job.ClientTimeout(),
	})
}

// submit holds a program for a job until the job has ended.
func (s *session) submit(ctx context.Context, sha256 string, job dispatcher.Submission) error {
	var err error
	if job.Program, err = s.store.Hold(ctx, sha256); err != nil {
		return err
	}
	if err = context.Cause(ctx); err == nil {
		// Whoever leaves from here on must not leave in doubt whether the job holds the program.
		err = s.component.Submit(context.WithoutCancel(ctx), job)
	}
	if err != nil {
		s.store.Release(sha256)
	}
	return err
}

// Programs lists the session's programs.
func (s *session) Programs(context.Context) ([]msg.ProgramDetails, error) {
	return s.store.List(), nil
}

// Program looks for a program that need not be uploaded.
func (s *session) Program(ctx context.Context, sha256 string) (msg.ProgramDetails, error) {
	return s.store.Find(ctx, sha256)
}

// AddProgram takes a program in.
func (s *session) AddProgram(ctx context.Context, name, sha256 string, content io.Reader) (msg.ProgramDetails, error) {
	return s.store.Add(ctx, name, sha256, content)
}

// RemoveProgram takes a program away of which no job runs.
func (s *session) RemoveProgram(ctx context.Context, sha256 string) error {
	return s.store.Remove(ctx, sha256)
}

// Drivers lists the programs that run beside the master, the oldest first.
func (s *session) Drivers(context.Context) ([]msg.DriverDetails, error) { return s.places.list(), nil }

// EndDriver ends one of them, and waits for that. Its jobs go on.
func (s *session) EndDriver(ctx context.Context, id string) error { return s.places.stop(ctx, id) }

// PlanProgram lets a program plan its first job, and ends it.
func (s *session) PlanProgram(ctx context.Context, run rest.ProgramRun) (graph jobgraph.JobGraph, err error) {
	at, err := s.places.enter(ctx, msg.Program{SHA256: run.SHA256})
	if err != nil {
		return graph, err
	}
	defer at.leave()
	ctx, stop := at.under(ctx)
	defer stop(nil)
	ctx, end := context.WithTimeoutCause(ctx, planTime, errSlowPlan)
	defer end()
	d, err := s.start(ctx, at, run, false) // a job that collects something cannot run detached, but has a plan
	if err != nil {
		return graph, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	graph, err = d.Next(ctx)
	return graph, badProgram(ctx, d.explain(err))
}

// planTime is how long a program may take until it executes its first job.
const planTime = 4 * time.Minute

// errSlowPlan ends a program that takes longer.
var errSlowPlan = fmt.Errorf("%w: it has executed no job in %s", msg.ErrBadProgram, planTime)

// RunProgram lets a program run as a driver that does not wait for its jobs, and gives
// the first one's id. The driver goes on then, until it ends by itself or with the
// session.
func (s *session) RunProgram(ctx context.Context, run rest.ProgramRun) (ids.JobID, error) {
	type answer struct {
		job ids.JobID
		err error
	}
	first := make(chan answer, 1) // what comes later nobody waits for
	tell := func(a answer) {
		select {
		case first <- a:
		default:
		}
	}
	at, err := s.places.enter(ctx, msg.Program{SHA256: run.SHA256}) // first: who waits is a request, and of those there are only so many
	if err != nil {
		return "", err
	}
	drive := func(living context.Context) {
		defer at.leave()
		err := s.drive(living, at, run, func(job ids.JobID, err error) { tell(answer{job, err}) })
		tell(answer{err: err})
		s.drivers.logger.WithFields(logrus.Fields{"program": run.SHA256, "err": err}).Info("program has ended")
	}
	select {
	case s.started <- drive:
	case <-ctx.Done():
		at.leave()
		return "", context.Cause(ctx)
	}
	select {
	case a := <-first:
		return a.job, a.err
	case <-ctx.Done(): // it goes on all the same
		return "", context.Cause(ctx)
	}
}

// drive runs a program to its end, and tells of each job whether it was taken in. An error
// is why it did not end well.
func (s *session) drive(ctx context.Context, at *place, run rest.ProgramRun, submitted func(ids.JobID, error)) (err error) {
	ctx, end := at.under(ctx)
	defer end(nil)
	late := time.AfterFunc(planTime, func() { end(errSlowPlan) })
	defer late.Stop()
	d, err := s.start(ctx, at, run, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	x := execution{component: s.component, drivers: s.drivers, detached: true}
	x.submit = func(ctx context.Context, graph *jobgraph.JobGraph) (ids.JobID, error) {
		job := run.Job
		if job == "" || x.some {
			job = ids.JobID(ids.Random())
		}
		err := s.submit(ctx, run.SHA256, dispatcher.Submission{Job: job, Graph: graph, Detached: true})
		late.Stop()
		if err == nil {
			at.submitted(job)
		}
		submitted(job, err)
		return job, err
	}
	if err := x.serve(ctx, d); !errors.Is(err, io.EOF) {
		if ctx.Err() == nil {
			s.drivers.note(d.log, d.reason(err).Error())
		}
		return badProgram(ctx, d.explain(err))
	}
	return nil
}

// start starts a program of the session as a driver, for which there is a place.
func (s *session) start(ctx context.Context, at *place, run rest.ProgramRun, detached bool) (_ *child, err error) {
	options, err := s.drivers.with(run.Options)
	if err != nil {
		return nil, err
	}
	var after []func() error
	defer func() {
		if err != nil {
			err = errors.Join(err, runAll(after))
		}
	}()
	program, err := s.store.Hold(ctx, run.SHA256)
	if err != nil {
		return nil, err
	}
	at.named(program)
	after = append(after, func() error { s.store.Release(run.SHA256); return nil })
	path, err := s.store.Fetch(ctx, program, s.drivers.dir)
	if err != nil {
		return nil, err
	}
	after = append(after, func() error { return os.Remove(path) })
	d, err := s.drivers.start(ctx, driving{
		program: path, arguments: run.Arguments, options: options, detached: detached, log: driverLog + "-" + program.Name,
	})
	if err != nil {
		return nil, badProgram(ctx, err)
	}
	at.begun(d.PID())
	d.after = append(after, d.after...)
	return d, nil
}

// badProgram marks the errors that are the program's, unless ctx has ended.
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
