package appmaster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// strategy is what a cluster of one mode does by itself.
type strategy struct {
	ends dispatcher.Mode // when the Dispatcher ends the cluster
	// run does what the cluster is for, and waits until it has to end. It calls taken
	// when the Dispatcher has what clients may ask for.
	run func(s *services, ctx context.Context, taken func()) (dispatcher.Outcome, error)
}

func strategyOf(l launch.AppMaster) (strategy, error) {
	switch l.Mode {
	case launch.PerJob:
		ends := dispatcher.Detached
		if l.Attached {
			ends = dispatcher.Attached
		}
		return strategy{ends, (*services).runJob}, nil
	case launch.Session:
		return strategy{dispatcher.Session, func(s *services, ctx context.Context, taken func()) (dispatcher.Outcome, error) {
			return s.session.run(ctx, taken)
		}}, nil
	case launch.Application:
		return strategy{dispatcher.Application, func(s *services, ctx context.Context, taken func()) (dispatcher.Outcome, error) {
			return s.application.run(ctx, taken)
		}}, nil
	}
	return strategy{}, fmt.Errorf("%w: there is no mode %q; client and ApplicationMaster are of different releases", launch.ErrMalformed, l.Mode)
}

// runJob submits the staged job, with which the cluster ends.
func (s *services) runJob(ctx context.Context, taken func()) (dispatcher.Outcome, error) {
	s.component.outputs.begin(s.staged.Job.ID, &s.staged.graph) // an earlier attempt may have written
	err := s.component.Dispatcher.Submit(ctx, dispatcher.Submission{
		Job: s.staged.Job.ID, Graph: &s.staged.graph, Program: s.env.launch.ProgramRef,
		Detached: !s.env.launch.Attached, ClientTimeout: s.clientTimeout(),
	})
	if errors.Is(err, jobgraph.ErrInvalid) || errors.Is(err, msg.ErrJobTooLarge) { // another attempt would find the same
		return dispatcher.Outcome{Status: msg.ApplicationFailed, Diagnostics: err.Error()}, nil
	}
	if err != nil {
		return dispatcher.Outcome{}, err
	}
	taken()
	return s.component.Dispatcher.Outcome(ctx)
}

// clientTimeout is how long the client of a job may be silent whose cluster ends with it.
func (s *services) clientTimeout() time.Duration {
	if s.env.launch.Attached && s.env.config.Bool(config.ShutdownOnAttachedExit) {
		return s.env.config.Duration(config.ClientHeartbeatTimeout)
	}
	return 0
}
