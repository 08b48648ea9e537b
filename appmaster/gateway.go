package appmaster

import (
	"context"
	"time"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// gateway answers REST by the roles.
type gateway struct{ *Component }

func (g gateway) Jobs(ctx context.Context) ([]msg.JobOverview, error) {
	return g.Dispatcher.Jobs(ctx)
}

func (g gateway) JobDetails(ctx context.Context, job ids.JobID) (msg.JobDetails, error) {
	return g.Dispatcher.JobDetails(ctx, job)
}

func (g gateway) CancelJob(ctx context.Context, job ids.JobID) error {
	return g.Dispatcher.CancelJob(ctx, job)
}

func (g gateway) Blocklist(ctx context.Context) ([]msg.BlockedNode, error) {
	status, err := g.ResourceManager.Status(ctx)
	return status.Blocked, err
}

func (g gateway) ClientSeen(ctx context.Context, job ids.JobID) error {
	return g.Dispatcher.ClientSeen(ctx, job)
}

func (g gateway) JobResult(ctx context.Context, job ids.JobID, wait time.Duration) (msg.JobEnded, error) {
	return g.Dispatcher.JobResult(ctx, job, wait)
}

func (g gateway) CollectPage(ctx context.Context, job ids.JobID, name string, cursor int64, wait time.Duration) (msg.CollectPage, error) {
	return g.Dispatcher.CollectPage(ctx, job, name, cursor, wait)
}

func (g gateway) TaskExecutors(ctx context.Context) ([]msg.TaskExecutorDetails, error) {
	status, err := g.ResourceManager.Status(ctx)
	return status.TaskExecutors, err
}

func (g gateway) SlotSupply(ctx context.Context) (msg.SlotSupply, error) {
	status, err := g.ResourceManager.Status(ctx)
	supply := msg.SlotSupply{
		PerWorker: status.Worker.Slots, WorkerMemoryMB: status.Worker.MemoryMB,
		Starting: status.Starting, Requested: status.Requested, RequestedSince: status.RequestedSince,
		Refused: status.Refused, Jobs: status.Jobs,
	}
	for _, worker := range status.TaskExecutors {
		supply.Total += worker.SlotsTotal
		supply.Free += worker.SlotsFree
	}
	return supply, err
}

func (g gateway) ShutDown(ctx context.Context) error { return g.Dispatcher.ShutDown(ctx) }
