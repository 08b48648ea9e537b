package pbconv

import (
	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// NodeLabel converts a label.
func NodeLabel(p *yarnpb.NodeLabelProto) records.NodeLabel {
	return records.NodeLabel{Name: p.GetName(), Exclusive: p.GetIsExclusive()}
}

// NodeLabelProto converts a label.
func NodeLabelProto(l records.NodeLabel) *yarnpb.NodeLabelProto {
	return &yarnpb.NodeLabelProto{Name: proto.String(l.Name), IsExclusive: proto.Bool(l.Exclusive)}
}

// NodeLabels converts a list.
func NodeLabels(ps []*yarnpb.NodeLabelProto) []records.NodeLabel { return each(ps, NodeLabel) }

// NodesToLabels converts the labels of nodes.
func NodesToLabels(ps []*yarnpb.NodeIdToLabelsProto) map[records.NodeID][]string {
	return mapped(ps, func(p *yarnpb.NodeIdToLabelsProto) (records.NodeID, []string) {
		return NodeID(p.GetNodeId()), p.GetNodeLabels()
	})
}

// LabelsToNodes converts the nodes of labels.
func LabelsToNodes(ps []*yarnpb.LabelsToNodeIdsProto) map[string][]records.NodeID {
	return mapped(ps, func(p *yarnpb.LabelsToNodeIdsProto) (string, []records.NodeID) {
		return p.GetNodeLabels(), each(p.GetNodeId(), NodeID)
	})
}

// NodeAttributeKey converts the name of an attribute.
func NodeAttributeKey(p *yarnpb.NodeAttributeKeyProto) records.NodeAttributeKey {
	if p == nil {
		return records.NodeAttributeKey{}
	}
	return records.NodeAttributeKey{Prefix: p.GetAttributePrefix(), Name: p.GetAttributeName()}
}

// NodeAttributeKeyProto converts the name of an attribute.
func NodeAttributeKeyProto(k records.NodeAttributeKey) *yarnpb.NodeAttributeKeyProto {
	return &yarnpb.NodeAttributeKeyProto{AttributePrefix: proto.String(k.Prefix), AttributeName: proto.String(k.Name)}
}

// NodeAttributeKeyProtos converts a list.
func NodeAttributeKeyProtos(ks []records.NodeAttributeKey) []*yarnpb.NodeAttributeKeyProto {
	return each(ks, NodeAttributeKeyProto)
}

// NodeAttribute converts a property of a node.
func NodeAttribute(p *yarnpb.NodeAttributeProto) records.NodeAttribute {
	if p == nil {
		return records.NodeAttribute{}
	}
	kind := p.GetAttributeType() // the default if it is missing
	return records.NodeAttribute{
		Key:   NodeAttributeKey(p.GetAttributeKey()),
		Type:  state[records.NodeAttributeType](&kind, ""),
		Value: p.GetAttributeValue(),
	}
}

// NodeAttributeProto converts a property of a node. Without a type it is a string.
func NodeAttributeProto(a records.NodeAttribute) *yarnpb.NodeAttributeProto {
	return &yarnpb.NodeAttributeProto{
		AttributeKey:   NodeAttributeKeyProto(a.Key),
		AttributeType:  stateProto[yarnpb.NodeAttributeTypeProto](a.Type, "", yarnpb.NodeAttributeTypeProto_value),
		AttributeValue: proto.String(a.Value),
	}
}

// NodeAttributes converts a list.
func NodeAttributes(ps []*yarnpb.NodeAttributeProto) []records.NodeAttribute {
	return each(ps, NodeAttribute)
}

// NodeAttributeProtos converts a list.
func NodeAttributeProtos(as []records.NodeAttribute) []*yarnpb.NodeAttributeProto {
	return each(as, NodeAttributeProto)
}

// NodeAttributeInfos converts the attributes of a cluster, which have no values.
func NodeAttributeInfos(ps []*yarnpb.NodeAttributeInfoProto) map[records.NodeAttributeKey]records.NodeAttributeType {
	return mapped(ps, func(p *yarnpb.NodeAttributeInfoProto) (records.NodeAttributeKey, records.NodeAttributeType) {
		return NodeAttributeKey(p.GetAttributeKey()), state[records.NodeAttributeType](p.AttributeType, "")
	})
}

// NodesToAttributes converts the attributes of hosts.
func NodesToAttributes(ps []*yarnpb.NodeToAttributesProto) map[string][]records.NodeAttribute {
	return mapped(ps, func(p *yarnpb.NodeToAttributesProto) (string, []records.NodeAttribute) {
		return p.GetNode(), NodeAttributes(p.GetNodeAttributes())
	})
}

// AttributesToNodes converts the values that attributes have on hosts.
func AttributesToNodes(ps []*yarnpb.AttributeToNodesProto) map[records.NodeAttributeKey]map[string]string {
	return mapped(ps, func(p *yarnpb.AttributeToNodesProto) (records.NodeAttributeKey, map[string]string) {
		return NodeAttributeKey(p.GetNodeAttribute()), mapped(p.GetNodeValueMap(), func(p *yarnpb.NodeToAttributeValueProto) (string, string) {
			return p.GetHostname(), p.GetAttributeValue()
		})
	})
}
