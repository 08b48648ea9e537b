package appmaster

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/appmaster/resourcemanager"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// processes implements rest.Processes.
type processes struct {
	workers *resourcemanager.ResourceManager
	self    func(context.Context, msg.Inquiry) (msg.InquiryAnswer, error) // nil: this is no process of its own
}

// TaskExecutor describes a worker.
func (p processes) TaskExecutor(ctx context.Context, worker ids.ResourceID) (msg.TaskExecutorDetails, error) {
	return p.workers.TaskExecutor(ctx, worker)
}

// Inquire asks a worker, or this process if worker is "".
func (p processes) Inquire(ctx context.Context, worker ids.ResourceID, host ids.HostID, about msg.Inquiry) (msg.InquiryAnswer, error) {
	switch {
	case worker != "":
		return p.workers.Inquire(ctx, worker, host, about)
	case host != "" || p.self == nil:
		return msg.InquiryAnswer{}, fmt.Errorf("%w: the ApplicationMaster has no task hosts, or is no process of its own", msg.ErrNotShown)
	}
	return p.self(ctx, about)
}
