package yarnclient

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ErrQueueNotFound says that the scheduler has no such queue.
var ErrQueueNotFound = errors.New("yarn has no such queue")

// QueueDetail says what QueueInfo includes. The zero value is only the queue itself.
type QueueDetail struct {
	Applications bool // the applications in the queue that have not ended
	Children     bool // the queues directly below
	Recursive    bool // with Children: all queues below
}

// QueueInfo describes a queue by its short name or full path (getQueueInfo). The error is
// ErrQueueNotFound if there is no such queue.
func (c *Client) QueueInfo(ctx context.Context, name string, detail QueueDetail) (records.QueueInfo, error) {
	request := &yarnpb.GetQueueInfoRequestProto{
		QueueName:           proto.String(name),
		IncludeApplications: proto.Bool(detail.Applications),
		IncludeChildQueues:  proto.Bool(detail.Children || detail.Recursive),
		Recursive:           proto.Bool(detail.Recursive),
	}
	var response yarnpb.GetQueueInfoResponseProto
	if err := c.rpc.Call(ctx, "getQueueInfo", request, &response); err != nil {
		return records.QueueInfo{}, fmt.Errorf("read queue %s: %w", name, err)
	}
	// ClientRMService#getQueueInfo only logs the scheduler's exception, and its answer
	// is empty.
	if response.GetQueueInfo() == nil {
		return records.QueueInfo{}, fmt.Errorf("read queue %s: %w", name, ErrQueueNotFound)
	}
	return pbconv.QueueInfo(response.GetQueueInfo()), nil
}

// QueueUserACLs lists the rights of the client's user in each queue (getQueueUserAcls).
func (c *Client) QueueUserACLs(ctx context.Context) ([]records.QueueUserACL, error) {
	var response yarnpb.GetQueueUserAclsInfoResponseProto
	if err := c.rpc.Call(ctx, "getQueueUserAcls", &yarnpb.GetQueueUserAclsInfoRequestProto{}, &response); err != nil {
		return nil, fmt.Errorf("read rights in queues: %w", err)
	}
	return pbconv.QueueUserACLs(response.GetQueueUserAcls()), nil
}
