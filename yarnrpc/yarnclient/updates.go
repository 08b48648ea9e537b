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

// Move puts a living application, with all its containers, into another queue
// (moveApplicationAcrossQueues). The user must have the right to modify the
// application and to submit to the queue; a queue that there is not is
// yarnrpc.ErrYarn, as one that the user may not use. An application that has ended
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

// UpdatePriority changes the priority of an application among those of its queue
// (updateApplicationPriority) and tells the one that it has then: not above
// yarn.cluster.max-application-priority, whose default of 0 makes all equal, and
// unchanged where the application has ended. The user must have the right to
// modify the application.
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

// UpdateLifetime changes the time at which YARN will kill an application and tells
// the one that counts then: not beyond the queue's maximum-application-lifetime.
// expires must lie in the future. An application that had no end gets one; none
// can be freed of it again. Of one that has ended, nothing changes and there is no
// error. The user must have the right to modify the application.
//
// It is updateApplicationTimeouts for LIFETIME, the only timeout that Hadoop has.
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
