package pbconv

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// Values with a meaning in YARN.
const (
	partitionKey = "yarn_node_partition/" // an attribute that is the node label
	uncounted    = -1                     // the cardinality of constraints on attributes
)

// PlacementConstraintProto converts a constraint; nil stays nil
// (PlacementConstraintToProtoConverter).
func PlacementConstraintProto(c records.PlacementConstraint) *yarnpb.PlacementConstraintProto {
	switch c := c.(type) {
	case nil:
		return nil
	case records.TagConstraint:
		return tagConstraintProto(c)
	case records.AttributeConstraint:
		operator := yarnpb.NodeAttributeOpCodeProto_EQ
		if c.Not {
			operator = yarnpb.NodeAttributeOpCodeProto_NE
		}
		return &yarnpb.PlacementConstraintProto{SimpleConstraint: &yarnpb.SimplePlacementConstraintProto{
			Scope:             proto.String(string(records.ScopeNode)),
			TargetExpressions: []*yarnpb.PlacementConstraintTargetProto{attributeTarget(c.Name, c.Values...)},
			MinCardinality:    proto.Int32(uncounted),
			MaxCardinality:    proto.Int32(uncounted),
			AttributeOpCode:   &operator,
		}}
	case records.CompositeConstraint:
		kind := yarnpb.CompositePlacementConstraintProto_AND
		if c.Any {
			kind = yarnpb.CompositePlacementConstraintProto_OR
		}
		p := &yarnpb.CompositePlacementConstraintProto{CompositeType: &kind}
		for _, child := range c.Children {
			p.ChildConstraints = append(p.ChildConstraints, PlacementConstraintProto(child))
		}
		return &yarnpb.PlacementConstraintProto{CompositeConstraint: p}
	default:
		panic(fmt.Sprintf("unknown placement constraint %T", c)) // the interface is sealed
	}
}

func tagConstraintProto(c records.TagConstraint) *yarnpb.PlacementConstraintProto {
	p := &yarnpb.SimplePlacementConstraintProto{
		Scope:          proto.String(string(c.Scope)),
		MinCardinality: proto.Int32(clamp(c.Min)),
		MaxCardinality: proto.Int32(clamp(c.Max)),
	}
	for _, tag := range c.Tags {
		namespace := tag.Namespace
		if namespace == "" {
			namespace = records.TagsOfSelf
		}
		p.TargetExpressions = append(p.TargetExpressions, &yarnpb.PlacementConstraintTargetProto{
			TargetType:   yarnpb.PlacementConstraintTargetProto_ALLOCATION_TAG.Enum(),
			TargetKey:    proto.String(string(namespace)),
			TargetValues: []string{tag.Name},
		})
	}
	if c.Partition != "" {
		p.TargetExpressions = append(p.TargetExpressions, attributeTarget(partitionKey, c.Partition))
	}
	return &yarnpb.PlacementConstraintProto{SimpleConstraint: p}
}

func attributeTarget(name string, values ...string) *yarnpb.PlacementConstraintTargetProto {
	return &yarnpb.PlacementConstraintTargetProto{
		TargetType:   yarnpb.PlacementConstraintTargetProto_NODE_ATTRIBUTE.Enum(),
		TargetKey:    proto.String(name),
		TargetValues: values,
	}
}
