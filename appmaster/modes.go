package appmaster

import (
	"context"
	"errors"
	"fmt"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/dataflow/jobgraph"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// strategy is what a cluster of one mode does by itself.
type strategy struct {
	ends dispatcher.Mode // when the Dispatcher ends the cluster
	// run does what the cluster is for, and waits until it has to end.
	run func(*services, context.Context) (dispatcher.Outcome, error)
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
		return strategy{dispatcher.Session, (*services).runSession}, nil
	}
	return strategy{}, fmt.Errorf("%w: there is no mode %q; client and ApplicationMaster are of different releases", launch.ErrMalformed, l.Mode)
}

// runJob submits the staged job, with which the cluster ends.
func (s *services) runJob(ctx context.Context) (dispatcher.Outcome, error) {
	err := s.component.Dispatcher.Submit(ctx, dispatcher.Submission{
		Job: s.staged.Job.ID, Graph: &s.staged.graph, Program: s.env.launch.ProgramRef,
	})
	if errors.Is(err, jobgraph.ErrInvalid) {
		return dispatcher.Outcome{Status: msg.ApplicationFailed, Diagnostics: err.Error()}, nil
	}
	if err != nil {
		return dispatcher.Outcome{}, err
	}
	return s.component.Dispatcher.Outcome(ctx)
}

// runSession has nothing to do by itself: jobs come over REST.
func (s *services) runSession(ctx context.Context) (dispatcher.Outcome, error) {
	return s.component.Dispatcher.Outcome(ctx)
}
