package appmaster

import (
	"context"
	"fmt"
	"io"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/appmaster/userdriver"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/cachedfiles"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// session implements rest.Session for its users, and userdriver.Cluster for the programs that it runs. Make
// it with newSession.
type session struct {
	*Component
	stores
	drivers    *userdriver.Drivers  // nil: no programs can run beside this process
	programs   *userdriver.Programs // likewise
	settling   settling
	freeMemory func() // may be nil
	logger     logrus.FieldLogger
}

// newSession makes a session that only takes jobs.
func newSession(component *Component, kept stores, settling settling, freeMemory func(), logger logrus.FieldLogger) *session {
	return &session{Component: component, stores: kept, settling: settling, freeMemory: freeMemory, logger: logger}
}

// runPrograms lets the session run programs, at most the given number at a time. They lie in dir. Call it
// before run.
func (s *session) runPrograms(c userdriver.Config, dir string, most int, logger logrus.FieldLogger) {
	s.drivers = userdriver.New(c, s, logger)
	s.programs = userdriver.NewPrograms(s.drivers, s.programStore, dir, most)
}

// run runs the jobs and programs that users submit over REST, until the session is shut down.
func (s *session) run(ctx context.Context, taken func()) (dispatcher.Outcome, error) {
	taken()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var running sched.Group
	defer running.Wait(ctx)
	defer stop(nil)
	if s.programs != nil {
		running.Go(ctx, func() { _ = s.programs.Serve(ctx) }) // ends with ctx, whose cause is known here
		running.Go(ctx, func() { s.drivers.Watch(ctx) })      // likewise
	}
	running.Go(ctx, func() { s.fileStore.Watch(ctx, s.logger) })
	if s.freeMemory != nil {
		running.Go(ctx, func() { s.settling.run(ctx, s.freeMemory) })
	}
	return s.Dispatcher.Outcome(ctx)
}

// SubmitJob submits a job of a program that the session has.
func (s *session) SubmitJob(ctx context.Context, job restapi.JobSubmission) error {
	return s.submit(ctx, job.Program.SHA256, dispatcher.Submission{
		Job: job.Job, Graph: &job.Graph, Detached: !job.Attached, ClientTimeout: job.ClientTimeout(),
	})
}

// Submit submits a job of a program that the session runs. Its cached files must be on the cluster's file
// systems.
func (s *session) Submit(ctx context.Context, p userdriver.Program, job ids.JobID, x *msg.ExecuteJob) error {
	graph := &x.Graph
	var err error
	if graph.Files, err = cachedfiles.Remote(graph.Config); err != nil {
		return err
	}
	return s.submit(ctx, p.SHA256, dispatcher.Submission{Job: job, Graph: graph, Unprepared: x.Unprepared, Detached: true})
}

// submit submits a job, and holds its program and its cached files until the job has ended.
func (s *session) submit(ctx context.Context, sha256 string, job dispatcher.Submission) error {
	if err := job.Graph.Validate(); err != nil { // before its names and hashes are looked for
		return fmt.Errorf("submit job %s: %w", job.Job, err)
	}
	if err := s.hold(ctx, sha256, &job); err != nil {
		return err
	}
	err := context.Cause(ctx)
	if err == nil {
		// From here on the end of ctx must not make it unclear whether the job holds the program.
		err = s.Component.Submit(context.WithoutCancel(ctx), job)
	}
	if err != nil {
		s.release(job)
	}
	return err
}

// Programs returns the session's programs.
func (s *session) Programs(context.Context) ([]msg.ProgramDetails, error) {
	return s.programStore.List(), nil
}

// Program returns a program that need not be uploaded.
func (s *session) Program(ctx context.Context, sha256 string) (msg.ProgramDetails, error) {
	return s.programStore.Find(ctx, sha256)
}

// AddProgram adds a program.
func (s *session) AddProgram(ctx context.Context, name, sha256 string, content io.Reader) (msg.ProgramDetails, error) {
	return s.programStore.Add(ctx, name, sha256, content)
}

// RemoveProgram removes a program that no running job uses.
func (s *session) RemoveProgram(ctx context.Context, sha256 string) error {
	return s.programStore.Remove(ctx, sha256)
}

// File returns a cached file that need not be uploaded.
func (s *session) File(ctx context.Context, sha256 string) (msg.ProgramDetails, error) {
	return s.fileStore.Find(ctx, sha256)
}

// AddFile adds a cached file for jobs to be submitted.
func (s *session) AddFile(ctx context.Context, name, sha256 string, content io.Reader) (msg.ProgramDetails, error) {
	return s.fileStore.Add(ctx, name, sha256, content)
}

// PlanProgram runs a program until it has planned its first job, and ends it.
func (s *session) PlanProgram(ctx context.Context, run rest.ProgramRun) (jobgraph.JobGraph, error) {
	if s.programs == nil {
		return jobgraph.JobGraph{}, errNoPrograms
	}
	return s.programs.Plan(ctx, userdriver.Run(run))
}

// RunProgram runs a program beside the ApplicationMaster, and returns the id of its first job.
func (s *session) RunProgram(ctx context.Context, run rest.ProgramRun) (ids.JobID, error) {
	if s.programs == nil {
		return "", errNoPrograms
	}
	return s.programs.Run(ctx, userdriver.Run(run))
}

// Drivers returns the programs that run beside the ApplicationMaster, the oldest first.
func (s *session) Drivers(context.Context) ([]msg.DriverDetails, error) {
	if s.programs == nil {
		return nil, nil
	}
	return s.programs.List(), nil
}

// EndDriver ends a program, and waits for its end. Its jobs continue.
func (s *session) EndDriver(ctx context.Context, id string) error {
	if s.programs == nil {
		return msg.ErrDriverNotFound
	}
	return s.programs.End(ctx, id)
}
