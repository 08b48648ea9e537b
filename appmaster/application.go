package appmaster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/driver"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// runApplication runs the application's program as a driver. The cluster ends with it
// and its jobs, unless it shall stay (execution.shutdown-on-application-finish).
func (s *services) runApplication(ctx context.Context, taken func()) (dispatcher.Outcome, error) {
	taken()
	driving, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var finished *dispatcher.Outcome // read after running
	var running sync.WaitGroup
	running.Go(func() { // ends with the driver and its jobs, or with driving
		outcome, err := s.drive(driving)
		if err != nil {
			s.logger.WithError(err).Info("program is stopped")
			return
		}
		finished = &outcome
		s.logger.WithField("status", outcome.Status).Info("program has ended")
		if s.env.config.Bool(config.ShutdownOnFinish) {
			err = s.component.Dispatcher.End(driving, outcome)
		}
		if err != nil {
			s.logger.WithError(err).Debug("program ends after its cluster")
		}
	})
	running.Go(func() { s.watchDrivers(driving) }) // likewise
	outcome, err := s.component.Dispatcher.Outcome(ctx)
	stop(nil)
	running.Wait()
	if finished != nil { // whoever has ended the cluster then, it did what it was for
		outcome = *finished
	}
	return outcome, err
}

// driverLog is the name of the logs of an application's program, without what ends it.
const driverLog = "driver"

// drive runs the application's program and its jobs to their end. An error is the cause
// of ctx.
func (s *services) drive(ctx context.Context) (dispatcher.Outcome, error) {
	// The driver lists inputs by them.
	if err := s.tokens.Ready(ctx); err != nil {
		return dispatcher.Outcome{}, err
	}
	program, err := filepath.Abs(filepath.Join(s.env.workDir, launch.ProgramLink))
	if err != nil {
		return dispatcher.Failed(fmt.Sprintf("find program: %v", err), ""), nil
	}
	d, err := s.drivers.start(ctx, driving{
		program: program, arguments: s.env.launch.Arguments, options: s.drivers.config, detached: !s.env.launch.Attached, log: driverLog,
	})
	if cause := context.Cause(ctx); cause != nil {
		return dispatcher.Outcome{}, cause
	}
	if err != nil {
		s.drivers.note(driverLog, err.Error())
		return dispatcher.Failed(err.Error(), ""), nil
	}
	x := execution{component: s.component, drivers: s.drivers, detached: !s.env.launch.Attached}
	x.submit = func(ctx context.Context, graph *jobgraph.JobGraph) (ids.JobID, error) {
		if text := s.staged.hardlyFits(s.env.config, graph); text != "" {
			s.drivers.note(driverLog, "warning: "+text)
		}
		job := ids.JobID(ids.Random())
		return job, s.component.Submit(ctx, dispatcher.Submission{
			Job: job, Graph: graph, Program: s.env.launch.ProgramRef, Detached: x.detached,
		})
	}
	why := x.serve(ctx, d)
	if err := d.Close(); err != nil {
		s.logger.WithError(err).Warn("program is not ended cleanly")
	}
	if cause := context.Cause(ctx); cause != nil {
		return dispatcher.Outcome{}, cause
	}
	switch {
	case !errors.Is(why, io.EOF):
		s.drivers.note(driverLog, x.failed(d.reason(why)).Diagnostics)
		return x.failed(d.explain(why)), nil
	case x.detached: // it did not wait for its jobs
		outcome, err := s.component.Dispatcher.AwaitJobs(ctx)
		if err == nil && outcome.Diagnostics != "" {
			s.drivers.note(driverLog, outcome.Diagnostics)
		}
		return outcome, err
	default: // it knows how they ended, and is content
		return dispatcher.Outcome{Status: msg.ApplicationSucceeded}, nil
	}
}

// failed is how an application ends whose driver has failed: as the job that did not
// finish, if the driver has nothing to say beside that.
func (e *execution) failed(why error) dispatcher.Outcome {
	last := e.last.Status
	if errors.Is(why, driver.ErrExit) && (last == msg.JobCanceled || last == msg.JobFailed) {
		return dispatcher.OutcomeOf(e.last)
	}
	return dispatcher.Failed(why.Error(), "")
}
