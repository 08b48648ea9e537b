package yarnclient

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// ClusterMetrics counts the cluster's NodeManagers by state (getClusterMetrics).
func (c *Client) ClusterMetrics(ctx context.Context) (records.ClusterMetrics, error) {
	var response yarnpb.GetClusterMetricsResponseProto
	if err := c.rpc.Call(ctx, "getClusterMetrics", &yarnpb.GetClusterMetricsRequestProto{}, &response); err != nil {
		return records.ClusterMetrics{}, fmt.Errorf("read cluster metrics: %w", err)
	}
	return pbconv.ClusterMetrics(response.GetClusterMetrics()), nil
}

// ClusterNodes lists the cluster's nodes in any of the given states or, without
// arguments, in all states (getClusterNodes).
func (c *Client) ClusterNodes(ctx context.Context, states ...records.NodeState) ([]records.NodeReport, error) {
	var request yarnpb.GetClusterNodesRequestProto
	for _, s := range states {
		state := pbconv.NodeStateProto(s)
		if state == nil {
			return nil, fmt.Errorf("list cluster nodes: yarn has no node state %q", s)
		}
		request.NodeStates = append(request.NodeStates, *state)
	}
	var response yarnpb.GetClusterNodesResponseProto
	if err := c.rpc.Call(ctx, "getClusterNodes", &request, &response); err != nil {
		return nil, fmt.Errorf("list cluster nodes: %w", err)
	}
	return pbconv.NodeReports(response.GetNodeReports()), nil
}
