package appmaster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"github.com/sirupsen/logrus"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/tokenmanager"
	"github.com/bobbin-yarn/bobbin/appmaster/userdriver"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/driver"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// application runs the application's program beside this process, and is the cluster of that
// program's jobs, as userdriver.Cluster has it. Make it with newApplication.
type application struct {
	*Component
	env     environment
	staged  staged
	tokens  *tokenmanager.Manager
	drivers *userdriver.Drivers
	logger  logrus.FieldLogger
}

func newApplication(component *Component, env environment, s staged, tokens *tokenmanager.Manager, c userdriver.Config, logger logrus.FieldLogger) *application {
	a := &application{Component: component, env: env, staged: s, tokens: tokens, logger: logger}
	a.drivers = userdriver.New(c, a, logger)
	return a
}

// Submit takes a job of the program in.
func (a *application) Submit(ctx context.Context, _ userdriver.Program, job ids.JobID, graph *jobgraph.JobGraph) error {
	if text := a.staged.hardlyFits(a.env.config, graph); text != "" {
		a.drivers.Note(userdriver.Log, "warning: "+text)
	}
	return a.Component.Submit(ctx, dispatcher.Submission{
		Job: job, Graph: graph, Program: a.env.launch.ProgramRef, Detached: !a.env.launch.Attached,
	})
}

// run runs the program. The cluster ends with it and its jobs, unless it shall stay
// (execution.shutdown-on-application-finish).
func (a *application) run(ctx context.Context, taken func()) (dispatcher.Outcome, error) {
	taken()
	driving, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var finished *dispatcher.Outcome // read after running
	var running sync.WaitGroup
	running.Go(func() { // ends with the program and its jobs, or with driving
		outcome, err := a.drive(driving)
		if err != nil {
			a.logger.WithError(err).Info("program is stopped")
			return
		}
		finished = &outcome
		a.logger.WithField("status", outcome.Status).Info("program has ended")
		if a.env.config.Bool(config.ShutdownOnFinish) {
			err = a.Dispatcher.End(driving, outcome)
		}
		if err != nil {
			a.logger.WithError(err).Debug("program ends after its cluster")
		}
	})
	running.Go(func() { a.drivers.Watch(driving) }) // likewise
	outcome, err := a.Dispatcher.Outcome(ctx)
	stop(nil)
	running.Wait()
	if finished != nil { // whoever has ended the cluster then, it did what it was for
		outcome = *finished
	}
	return outcome, err
}

// drive runs the program and its jobs to their end. An error is the cause of ctx.
func (a *application) drive(ctx context.Context) (dispatcher.Outcome, error) {
	// The program lists inputs by them.
	if err := a.tokens.Ready(ctx); err != nil {
		return dispatcher.Outcome{}, err
	}
	program, err := filepath.Abs(filepath.Join(a.env.workDir, launch.ProgramLink))
	if err != nil {
		return dispatcher.Failed(fmt.Sprintf("find program: %v", err), ""), nil
	}
	detached := !a.env.launch.Attached
	process, err := a.drivers.Start(ctx, userdriver.Program{
		File: program, SHA256: a.env.launch.ProgramRef.SHA256, Arguments: a.env.launch.Arguments,
		Options: a.env.forOthers(), Detached: detached, Log: userdriver.Log,
	})
	if cause := context.Cause(ctx); cause != nil {
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
	switch {
	case !errors.Is(why, io.EOF):
		a.drivers.Note(userdriver.Log, failed(last, process.Reason(why)).Diagnostics)
		return failed(last, process.Explain(why)), nil
	case detached: // it did not wait for its jobs
		outcome, err := a.Dispatcher.AwaitJobs(ctx)
		if err == nil && outcome.Diagnostics != "" {
			a.drivers.Note(userdriver.Log, outcome.Diagnostics)
		}
		return outcome, err
	default: // it knows how they ended, and is content
		return dispatcher.Outcome{Status: msg.ApplicationSucceeded}, nil
	}
}

// failed is how an application ends whose program has failed: as the program's last job, if that did not
// finish and the program has nothing to say beside that.
func failed(last msg.JobEnded, why error) dispatcher.Outcome {
	if errors.Is(why, driver.ErrExit) && (last.Status == msg.JobCanceled || last.Status == msg.JobFailed) {
		return dispatcher.OutcomeOf(last)
	}
	return dispatcher.Failed(why.Error(), "")
}
