package yarnclient

import (
	"context"
	"fmt"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/internal/pbconv"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// NodeLabels lists the labels that the cluster has, whether or not a node has them
// (getClusterNodeLabels); none where yarn.node-labels.enabled is not set.
func (c *Client) NodeLabels(ctx context.Context) ([]records.NodeLabel, error) {
	var response yarnpb.GetClusterNodeLabelsResponseProto
	if err := c.rpc.Call(ctx, "getClusterNodeLabels", &yarnpb.GetClusterNodeLabelsRequestProto{}, &response); err != nil {
		return nil, fmt.Errorf("list node labels: %w", err)
	}
	return pbconv.NodeLabels(response.GetNodeLabels()), nil
}

// LabelsOfNodes lists the nodes that have labels, and these (getNodeToLabels). A
// label that was given to a host rather than to a node stands under port 0, too.
func (c *Client) LabelsOfNodes(ctx context.Context) (map[records.NodeID][]string, error) {
	var response yarnpb.GetNodesToLabelsResponseProto
	if err := c.rpc.Call(ctx, "getNodeToLabels", &yarnpb.GetNodesToLabelsRequestProto{}, &response); err != nil {
		return nil, fmt.Errorf("list labels of nodes: %w", err)
	}
	return pbconv.NodesToLabels(response.GetNodeToLabels()), nil
}

// NodesOfLabels lists the nodes of the given labels, or of all where none is given
// (getLabelsToNodes). A label that is unknown or without nodes is left out.
func (c *Client) NodesOfLabels(ctx context.Context, labels ...string) (map[string][]records.NodeID, error) {
	request := &yarnpb.GetLabelsToNodesRequestProto{NodeLabels: labels}
	var response yarnpb.GetLabelsToNodesResponseProto
	if err := c.rpc.Call(ctx, "getLabelsToNodes", request, &response); err != nil {
		return nil, fmt.Errorf("list nodes of labels: %w", err)
	}
	return pbconv.LabelsToNodes(response.GetLabelsToNodes()), nil
}

// NodeAttributes lists the attributes that nodes of the cluster have, with the type
// of their values (getClusterNodeAttributes).
func (c *Client) NodeAttributes(ctx context.Context) (map[records.NodeAttributeKey]records.NodeAttributeType, error) {
	var response yarnpb.GetClusterNodeAttributesResponseProto
	if err := c.rpc.Call(ctx, "getClusterNodeAttributes", &yarnpb.GetClusterNodeAttributesRequestProto{}, &response); err != nil {
		return nil, fmt.Errorf("list node attributes: %w", err)
	}
	return pbconv.NodeAttributeInfos(response.GetNodeAttributes()), nil
}

// AttributesOfNodes lists the attributes of the given hosts, or of all where none
// is given, by host (getNodesToAttributes). A host without attributes is left out.
func (c *Client) AttributesOfNodes(ctx context.Context, hosts ...string) (map[string][]records.NodeAttribute, error) {
	request := &yarnpb.GetNodesToAttributesRequestProto{Hostnames: hosts}
	var response yarnpb.GetNodesToAttributesResponseProto
	if err := c.rpc.Call(ctx, "getNodesToAttributes", request, &response); err != nil {
		return nil, fmt.Errorf("list attributes of nodes: %w", err)
	}
	return pbconv.NodesToAttributes(response.GetNodesToAttributes()), nil
}

// NodesOfAttributes lists the hosts that have the given attributes, or any where
// none is given, and what the attribute's value is there (getAttributesToNodes). An
// attribute that no node has is left out.
func (c *Client) NodesOfAttributes(ctx context.Context, attributes ...records.NodeAttributeKey) (map[records.NodeAttributeKey]map[string]string, error) {
	request := &yarnpb.GetAttributesToNodesRequestProto{NodeAttributes: pbconv.NodeAttributeKeyProtos(attributes)}
	var response yarnpb.GetAttributesToNodesResponseProto
	if err := c.rpc.Call(ctx, "getAttributesToNodes", request, &response); err != nil {
		return nil, fmt.Errorf("list nodes of attributes: %w", err)
	}
	return pbconv.AttributesToNodes(response.GetAttributesToNodes()), nil
}
