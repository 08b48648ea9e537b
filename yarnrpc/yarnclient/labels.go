package yarnclient

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// NodeLabels lists the cluster's labels, also those without nodes
// (getClusterNodeLabels). There are none unless yarn.node-labels.enabled is set.
func (c *Client) NodeLabels(ctx context.Context) ([]records.NodeLabel, error) {
	var response yarnpb.GetClusterNodeLabelsResponseProto
	if err := c.rpc.Call(ctx, "getClusterNodeLabels", &yarnpb.GetClusterNodeLabelsRequestProto{}, &response); err != nil {
		return nil, fmt.Errorf("list node labels: %w", err)
	}
	return pbconv.NodeLabels(response.GetNodeLabels()), nil
}

// LabelsOfNodes lists the nodes with labels and their labels (getNodeToLabels). If a
// label belongs to a whole host, the host also appears as a node with port 0.
func (c *Client) LabelsOfNodes(ctx context.Context) (map[records.NodeID][]string, error) {
	var response yarnpb.GetNodesToLabelsResponseProto
	if err := c.rpc.Call(ctx, "getNodeToLabels", &yarnpb.GetNodesToLabelsRequestProto{}, &response); err != nil {
		return nil, fmt.Errorf("list labels of nodes: %w", err)
	}
	return pbconv.NodesToLabels(response.GetNodeToLabels()), nil
}

// NodesOfLabels lists the nodes of the given labels or, without arguments, of all
// labels (getLabelsToNodes). The result leaves out labels that are unknown or have
// no nodes.
func (c *Client) NodesOfLabels(ctx context.Context, labels ...string) (map[string][]records.NodeID, error) {
	request := &yarnpb.GetLabelsToNodesRequestProto{NodeLabels: labels}
	var response yarnpb.GetLabelsToNodesResponseProto
	if err := c.rpc.Call(ctx, "getLabelsToNodes", request, &response); err != nil {
		return nil, fmt.Errorf("list nodes of labels: %w", err)
	}
	return pbconv.LabelsToNodes(response.GetLabelsToNodes()), nil
}

// NodeAttributes lists the attributes of the cluster's nodes, with the types of
// their values (getClusterNodeAttributes).
func (c *Client) NodeAttributes(ctx context.Context) (map[records.NodeAttributeKey]records.NodeAttributeType, error) {
	var response yarnpb.GetClusterNodeAttributesResponseProto
	if err := c.rpc.Call(ctx, "getClusterNodeAttributes", &yarnpb.GetClusterNodeAttributesRequestProto{}, &response); err != nil {
		return nil, fmt.Errorf("list node attributes: %w", err)
	}
	return pbconv.NodeAttributeInfos(response.GetNodeAttributes()), nil
}

// AttributesOfNodes lists node attributes by host (getNodesToAttributes), for the
// given hosts or, without arguments, for all. The result leaves out hosts without
// attributes.
func (c *Client) AttributesOfNodes(ctx context.Context, hosts ...string) (map[string][]records.NodeAttribute, error) {
	request := &yarnpb.GetNodesToAttributesRequestProto{Hostnames: hosts}
	var response yarnpb.GetNodesToAttributesResponseProto
	if err := c.rpc.Call(ctx, "getNodesToAttributes", request, &response); err != nil {
		return nil, fmt.Errorf("list attributes of nodes: %w", err)
	}
	return pbconv.NodesToAttributes(response.GetNodesToAttributes()), nil
}

// NodesOfAttributes lists the hosts that have an attribute, each with its value there
// (getAttributesToNodes). It does so for the given attributes or, without arguments,
// for all. The result leaves out attributes that no node has.
func (c *Client) NodesOfAttributes(ctx context.Context, attributes ...records.NodeAttributeKey) (map[records.NodeAttributeKey]map[string]string, error) {
	request := &yarnpb.GetAttributesToNodesRequestProto{NodeAttributes: pbconv.NodeAttributeKeyProtos(attributes)}
	var response yarnpb.GetAttributesToNodesResponseProto
	if err := c.rpc.Call(ctx, "getAttributesToNodes", request, &response); err != nil {
		return nil, fmt.Errorf("list nodes of attributes: %w", err)
	}
	return pbconv.AttributesToNodes(response.GetAttributesToNodes()), nil
}
