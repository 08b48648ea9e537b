package appmaster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync/atomic"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/userdriver"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/driver"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
	"github.com/bobbin-yarn/bobbin/internal/sched"
)

// application runs the application's program beside this process. It is the userdriver.Cluster on which
// that program's jobs run. Make it with newApplication.
type application struct {
	*Component
	outside Outside
	staged  staged
	drivers *userdriver.Drivers
	differs atomic.Pointer[error] // the program runs again, and executes another job than before
	again   int                   // number of jobs of earlier runs of the program
	logger  logrus.FieldLogger
}

func newApplication(component *Component, o Outside, s staged, c userdriver.Config, logger logrus.FieldLogger) *application {
	a := &application{Component: component, outside: o, staged: s, logger: logger}
	a.drivers = userdriver.New(c, a, logger)
	return a
}

// mostJobs bounds the search for jobs by their ids.
const mostJobs = 1 << 20

// takeOver counts the accepted jobs of earlier runs of the program. The first ones may have been forgotten since.
func (a *application) takeOver(r dispatcher.Recovered) {
	kept := make(map[ids.JobID]bool)
	for _, job := range r.Jobs {
		kept[job.Submission.Job] = true
	}
	for _, ended := range r.Results {
		kept[ended.ID] = true
	}
	for n := 0; len(kept) > 0 && n < mostJobs; n++ {
		if job := ids.JobIDOf(a.outside.Attempt.Application.String(), n); kept[job] {
			delete(kept, job)
			a.again = n + 1
		}
	}
}

// Submit submits a job of the program to the Dispatcher. A program that runs again, because the ApplicationMaster has been
// replaced, finds its jobs running or ended. If it executes another job than before, the application fails: its jobs would
// not belong together.
func (a *application) Submit(ctx context.Context, _ userdriver.Program, job ids.JobID, x *msg.ExecuteJob) error {
	graph := &x.Graph
	if text := a.staged.hardlyFits(a.outside.Config, graph); text != "" && !x.Unprepared {
		a.drivers.Note(userdriver.Log, "warning: "+text)
	}
	graph.Files = a.staged.Files
	err := a.Component.Submit(ctx, dispatcher.Submission{
		Job: job, Graph: graph, Unprepared: x.Unprepared,
		Program: a.outside.Launch.ProgramRef, Detached: !a.outside.Launch.Attached,
	})
	switch {
	case errors.Is(err, msg.ErrJobExists), errors.Is(err, msg.ErrJobEnded):
		a.logger.WithField("job", job).Info("program runs again, and executes a job that an earlier attempt has accepted")
		return nil
	case errors.Is(err, msg.ErrDifferentJob):
		a.differs.CompareAndSwap(nil, &err)
	}
	return err
}

// run runs the program. The cluster ends when the program and its jobs have ended, unless
// execution.shutdown-on-application-finish is false.
func (a *application) run(ctx context.Context, taken func()) (dispatcher.Outcome, error) {
	taken()
	driving, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var finished *dispatcher.Outcome // read after running
	var running sched.Group
	running.Go(ctx, func() { // ends with the program and its jobs, or with driving
		outcome, err := a.drive(driving)
		if err != nil {
			a.logger.WithError(err).Info("program is stopped")
			return
		}
		finished = &outcome
		a.logger.WithField("status", outcome.Status).Info("program has ended")
		if a.outside.Config.Bool(config.ShutdownOnFinish) {
			err = a.Dispatcher.End(driving, outcome)
		}
		if err != nil {
			a.logger.WithError(err).Debug("program ends after its cluster")
		}
	})
	running.Go(ctx, func() { a.drivers.Watch(driving) }) // likewise
	outcome, err := a.Dispatcher.Outcome(ctx)
	stop(nil)
	running.Wait(ctx)
	if finished != nil { // the program's outcome counts, also if a client shut the cluster down meanwhile
		outcome = *finished
	}
	return outcome, err
}

// drive runs the program and its jobs to their end. An error is the cause of ctx.
func (a *application) drive(ctx context.Context) (dispatcher.Outcome, error) {
	program, err := filepath.Abs(filepath.Join(a.outside.Programs.WorkDir, launch.ProgramLink))
	if err != nil {
		return dispatcher.Failed(fmt.Sprintf("find program: %v", err), ""), nil
	}
	detached := !a.outside.Launch.Attached
	process, err := a.drivers.Start(ctx, userdriver.Program{
		File: program, SHA256: a.outside.Launch.ProgramRef.SHA256, Arguments: a.outside.Launch.Arguments,
		Options: a.outside.forOthers(), Detached: detached, Log: userdriver.Log, Accepted: a.again,
	})
	if cause := context.Cause(ctx); cause != nil {
		if err == nil {
			_ = process.Close() // the cluster ends for another reason
		}
		return dispatcher.Outcome{}, cause
	}
	if err != nil {
		a.drivers.Note(userdriver.Log, err.Error())
		return dispatcher.Failed(err.Error(), ""), nil
	}
	last, why := process.Serve(ctx)
	if err := process.Close(); err != nil {
		a.logger.WithError(err).Warn("program did not end cleanly")
	}
	if cause := context.Cause(ctx); cause != nil {
		return dispatcher.Outcome{}, cause
	}
	switch different := a.differs.Load(); {
	case different != nil:
		a.drivers.Note(userdriver.Log, (*different).Error())
		return dispatcher.Failed((*different).Error(), ""), nil
	case !errors.Is(why, io.EOF):
		a.drivers.Note(userdriver.Log, failed(last, process.Reason(why)).Diagnostics)
		return failed(last, process.Explain(why)), nil
	case detached: // the program did not wait for its jobs
		outcome, err := a.Dispatcher.AwaitJobs(ctx)
		if err == nil && outcome.Diagnostics != "" {
			a.drivers.Note(userdriver.Log, outcome.Diagnostics)
		}
		return outcome, err
	default: // the program waited for its jobs, and exited with success
		return dispatcher.Outcome{Status: msg.ApplicationSucceeded}, nil
	}
}

// failed returns the outcome of an application whose program has failed. If the program says only that it
// exited, and its last job was cancelled or failed, that job's outcome is the application's.
func failed(last msg.JobEnded, why error) dispatcher.Outcome {
	if errors.Is(why, driver.ErrExit) && (last.Status == msg.JobCanceled || last.Status == msg.JobFailed) {
		return dispatcher.OutcomeOf(last)
	}
	return dispatcher.Failed(why.Error(), "")
}
