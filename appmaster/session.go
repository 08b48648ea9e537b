package appmaster

import (
	"context"
	"io"
	"runtime/debug"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/internal/programs"
	"github.com/bobbin-yarn/bobbin/appmaster/rest"
	"github.com/bobbin-yarn/bobbin/appmaster/userdriver"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/restapi"
)

// session implements rest.Session for its users, and userdriver.Cluster for the programs that it runs. Make
// it with newSession.
type session struct {
	*Component
	store    *programs.Store
	drivers  *userdriver.Drivers
	programs *userdriver.Programs
	settling settling
}

// newSession makes a session that runs at most the given number of programs at a time. Running programs lie
// in dir.
func newSession(component *Component, store *programs.Store, settling settling, c userdriver.Config, dir string, most int, logger logrus.FieldLogger) *session {
	s := &session{Component: component, store: store, settling: settling}
	s.drivers = userdriver.New(c, s, logger)
	s.programs = userdriver.NewPrograms(s.drivers, store, dir, most)
	return s
}

// run runs the jobs and programs that users submit over REST, until the session is shut down.
func (s *session) run(ctx context.Context, taken func()) (dispatcher.Outcome, error) {
	taken()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop(nil)
	running.Go(func() { _ = s.programs.Serve(ctx) }) // ends with ctx, whose cause is known here
	running.Go(func() { s.drivers.Watch(ctx) })      // likewise
	running.Go(func() { s.settling.run(ctx, debug.FreeOSMemory) })
	return s.Dispatcher.Outcome(ctx)
}

// SubmitJob submits a job of a program that the session has.
func (s *session) SubmitJob(ctx context.Context, job restapi.JobSubmission) error {
	return s.submit(ctx, job.Program.SHA256, dispatcher.Submission{
		Job: job.Job, Graph: &job.Graph, Detached: !job.Attached, ClientTimeout: job.ClientTimeout(),
	})
}

// Submit submits a job of a program that the session runs.
func (s *session) Submit(ctx context.Context, p userdriver.Program, job ids.JobID, graph *jobgraph.JobGraph) error {
	return s.submit(ctx, p.SHA256, dispatcher.Submission{Job: job, Graph: graph, Detached: true})
}

// submit submits a job, and holds its program until the job has ended.
func (s *session) submit(ctx context.Context, sha256 string, job dispatcher.Submission) error {
	var err error
	if job.Program, err = s.store.Hold(ctx, sha256); err != nil {
		return err
	}
	if err = context.Cause(ctx); err == nil {
		// From here on the end of ctx must not make it unclear whether the job holds the program.
		err = s.Component.Submit(context.WithoutCancel(ctx), job)
	}
	if err != nil {
		s.store.Release(sha256)
	}
	return err
}

// Programs returns the session's programs.
func (s *session) Programs(context.Context) ([]msg.ProgramDetails, error) {
	return s.store.List(), nil
}

// Program returns a program that need not be uploaded.
func (s *session) Program(ctx context.Context, sha256 string) (msg.ProgramDetails, error) {
	return s.store.Find(ctx, sha256)
}

// AddProgram adds a program.
func (s *session) AddProgram(ctx context.Context, name, sha256 string, content io.Reader) (msg.ProgramDetails, error) {
	return s.store.Add(ctx, name, sha256, content)
}

// RemoveProgram removes a program that no running job uses.
func (s *session) RemoveProgram(ctx context.Context, sha256 string) error {
	return s.store.Remove(ctx, sha256)
}

// PlanProgram runs a program until it has planned its first job, and ends it.
func (s *session) PlanProgram(ctx context.Context, run rest.ProgramRun) (jobgraph.JobGraph, error) {
	return s.programs.Plan(ctx, userdriver.Run(run))
}

// RunProgram runs a program beside the ApplicationMaster, and returns the id of its first job.
func (s *session) RunProgram(ctx context.Context, run rest.ProgramRun) (ids.JobID, error) {
	return s.programs.Run(ctx, userdriver.Run(run))
}

// Drivers returns the programs that run beside the ApplicationMaster, the oldest first.
func (s *session) Drivers(context.Context) ([]msg.DriverDetails, error) {
	return s.programs.List(), nil
}

// EndDriver ends a program, and waits for its end. Its jobs continue.
func (s *session) EndDriver(ctx context.Context, id string) error { return s.programs.End(ctx, id) }
