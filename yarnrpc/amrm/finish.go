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
	unregisterPoll    = 100 * time.Millisecond // as in AMRMClientImpl
	maxUnregisterWait = 2 * time.Second
)

// Finish unregisters with the application's final status. It returns nil when YARN
// has confirmed that it has recorded the status, which then outlives this process.
// After broken connections and restarts of the ResourceManager, Finish retries until
// the context ends. ErrAttemptGone leaves the outcome open. Either YARN has recorded
// the status of an earlier try whose answer was lost; or it has given up this attempt
// and may have started the next one, which needs all files of this one. trackingURL
// replaces the registered URL unless it is empty. Do not call Allocate after Finish.
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
		case errors.Is(err, yarnrpc.ErrInvalidApplicationMasterRequest):
			// Unlike allocate, this call has no exception of its own for an attempt that YARN has given up
			// (ApplicationMasterService#throwApplicationDoesNotExistInCacheException).
			c.gone = fmt.Errorf("%w: %w", ErrAttemptGone, err)
			return fmt.Errorf("finish %s: %w", c.attempt, c.gone)
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
