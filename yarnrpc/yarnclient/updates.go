package yarnclient

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Move moves an application with all its containers into another queue
// (moveApplicationAcrossQueues). The user must have the right to modify the
// application and to submit to the queue. The error is yarnrpc.ErrYarn if the
// queue does not exist or the user may not use it. An application that has ended
// cannot be moved.
func (c *Client) Move(ctx context.Context, id records.ApplicationID, queue string) error {
	request := &yarnpb.MoveApplicationAcrossQueuesRequestProto{
		ApplicationId: pbconv.ApplicationIDProto(id),
		TargetQueue:   proto.String(queue),
	}
	if err := c.rpc.Call(ctx, "moveApplicationAcrossQueues", request, &yarnpb.MoveApplicationAcrossQueuesResponseProto{}); err != nil {
		return fmt.Errorf("move %s to queue %s: %w", id, queue, err)
	}
	return nil
}

// UpdatePriority changes the priority of an application in its queue
// (updateApplicationPriority) and returns the new one. It is at most
// yarn.cluster.max-application-priority, whose default of 0 makes all applications
// equal. If the application has ended, its priority does not change. The user must
// have the right to modify the application.
func (c *Client) UpdatePriority(ctx context.Context, id records.ApplicationID, priority records.Priority) (records.Priority, error) {
	request := &yarnpb.UpdateApplicationPriorityRequestProto{
		ApplicationId:       pbconv.ApplicationIDProto(id),
		ApplicationPriority: pbconv.PriorityProto(priority),
	}
	var response yarnpb.UpdateApplicationPriorityResponseProto
	if err := c.rpc.Call(ctx, "updateApplicationPriority", request, &response); err != nil {
		return 0, fmt.Errorf("set priority of %s to %d: %w", id, priority, err)
	}
	return pbconv.Priority(response.GetApplicationPriority()), nil
}

// UpdateLifetime changes the time at which YARN will kill an application. It
// returns the time that YARN has set, which is limited by the queue's
// maximum-application-lifetime. expires must lie in the future. An application
// without an end gets one, and this cannot be undone. If the application has
// ended, the call has no effect and returns no error. The user must have the right
// to modify the application.
//
// The method is updateApplicationTimeouts for LIFETIME, the only timeout that
// Hadoop has.
func (c *Client) UpdateLifetime(ctx context.Context, id records.ApplicationID, expires time.Time) (time.Time, error) {
	lifetime := yarnpb.ApplicationTimeoutTypeProto_APP_TIMEOUT_LIFETIME
	request := &yarnpb.UpdateApplicationTimeoutsRequestProto{
		ApplicationId: pbconv.ApplicationIDProto(id),
		ApplicationTimeouts: []*yarnpb.ApplicationUpdateTimeoutMapProto{{
			ApplicationTimeoutType: lifetime.Enum(),
			ExpireTime:             proto.String(pbconv.ExpireTimeProto(expires)),
		}},
	}
	var response yarnpb.UpdateApplicationTimeoutsResponseProto
	if err := c.rpc.Call(ctx, "updateApplicationTimeouts", request, &response); err != nil {
		return time.Time{}, fmt.Errorf("set end of %s to %s: %w", id, expires, err)
	}
	for _, t := range response.GetApplicationTimeouts() {
		if t.GetApplicationTimeoutType() == lifetime {
			expires = pbconv.ExpireTime(t.GetExpireTime())
		}
	}
	return expires, nil
}
