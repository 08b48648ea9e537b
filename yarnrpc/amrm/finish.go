package amrm

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pause"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Waits of Finish between two tries.
const (
	unregisterPoll    = 100 * time.Millisecond // as AMRMClientImpl has it
	maxUnregisterWait = 2 * time.Second
)

// Finish unregisters with the application's final status. It returns nil once YARN
// has said that it has recorded it, which outlives this process; broken connections
// and restarts of the ResourceManager are retried until the context ends. After an
// ErrAttemptGone nobody knows: YARN may have recorded what an earlier try said whose
// answer was lost, or have given the attempt up before and started another, which
// needs all that this one has. trackingURL replaces the registered one, unless empty.
// No Allocate may follow.
func (c *Client) Finish(ctx context.Context, status records.FinalApplicationStatus, diagnostics, trackingURL string) error {
	request := finishProto(status, diagnostics, trackingURL)
	for wait := unregisterPoll; ; {
		var response yarnpb.FinishApplicationMasterResponseProto
		err := c.call(ctx, "finishApplicationMaster", request, &response)
		switch {
		case err == nil && response.GetIsUnregistered():
			return nil
		case err == nil: // accepted, and being recorded
			wait = unregisterPoll
		case errors.Is(err, yarnrpc.ErrApplicationMasterNotRegistered) && c.registration != nil:
			if _, err := c.register(ctx); err != nil && yarnrpc.Classify(err) == yarnrpc.Permanent {
				return fmt.Errorf("finish %s: %w", c.attempt, err)
			}
		case yarnrpc.Classify(err) == yarnrpc.FailOver || yarnrpc.Classify(err) == yarnrpc.RetrySame:
			wait = min(2*wait, maxUnregisterWait)
		default:
			return fmt.Errorf("finish %s: %w", c.attempt, err)
		}
		switch over := pause.For(ctx, wait); {
		case over == nil:
		case err == nil:
			return fmt.Errorf("finish %s: %w while yarn recorded it", c.attempt, over)
		default:
			return fmt.Errorf("finish %s: %w, after: %w", c.attempt, over, err)
		}
	}
}
