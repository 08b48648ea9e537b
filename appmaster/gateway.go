package appmaster

import (
	"context"

	"github.com/bobbin-yarn/bobbin/appmaster/dispatcher"
	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// gateway answers REST's questions: the Dispatcher about jobs, the ResourceManager about workers, the Master about the
// application.
type gateway struct {
	*dispatcher.Dispatcher
	workers *resourcemanager.ResourceManager
	master  *Master
}

// Attempts implements rest.Gateway.
func (g gateway) Attempts(ctx context.Context) ([]msg.AttemptDetails, error) {
	return g.master.attempts(ctx)
}

// Application implements rest.Gateway.
func (g gateway) Application(ctx context.Context) (msg.ApplicationDetails, error) {
	return g.master.application(ctx)
}

// JobStart implements rest.Gateway.
func (g gateway) JobStart(ctx context.Context, job ids.JobID) ([]msg.Span, error) {
	details, err := g.JobDetails(ctx, job)
	if err != nil {
		return nil, err
	}
	granted, err := g.workers.Granted(ctx, job)
	return msg.StartOf(&details, granted), err
}

// Start implements rest.Gateway.
func (g gateway) Start(ctx context.Context) ([]msg.Span, error) { return g.master.start(ctx) }

func (g gateway) Blocklist(ctx context.Context) ([]msg.BlockedNode, error) {
	status, err := g.workers.Status(ctx)
	return status.Blocked, err
}

func (g gateway) TaskExecutors(ctx context.Context) ([]msg.TaskExecutorDetails, error) {
	status, err := g.workers.Status(ctx)
	return status.TaskExecutors, err
}

func (g gateway) SlotSupply(ctx context.Context) (msg.SlotSupply, error) {
	return g.workers.Supply(ctx)
}
