package pbconv

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/bobbin-yarn/bobbin/hadoopproto/yarnpb"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// The messages are those of PlacementConstraintToProtoConverter.
func TestPlacementConstraintProto(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		constraint records.PlacementConstraint
		want       string
	}{
		"affinity": {
			records.Near(records.ScopeRack, records.AllocationTag{Name: "a"}, records.AllocationTag{Namespace: records.TagsOfAll, Name: "b"}),
			`simpleConstraint { scope: "rack" minCardinality: 1 maxCardinality: 2147483647
				targetExpressions { targetType: ALLOCATION_TAG targetKey: "self" targetValues: "a" }
				targetExpressions { targetType: ALLOCATION_TAG targetKey: "all" targetValues: "b" } }`,
		},
		"anti-affinity on a partition": {
			records.TagConstraint{Scope: records.ScopeNode, Tags: records.OwnTags("a"), Partition: "gpu"},
			`simpleConstraint { scope: "node" minCardinality: 0 maxCardinality: 0
				targetExpressions { targetType: ALLOCATION_TAG targetKey: "self" targetValues: "a" }
				targetExpressions { targetType: NODE_ATTRIBUTE targetKey: "yarn_node_partition/" targetValues: "gpu" } }`,
		},
		"an upper bound beyond Java's": {
			records.Among(records.ScopeNode, 2, math.MaxInt, records.OwnTags("a")...),
			`simpleConstraint { scope: "node" minCardinality: 2 maxCardinality: 2147483647
				targetExpressions { targetType: ALLOCATION_TAG targetKey: "self" targetValues: "a" } }`,
		},
		"attributes, joined": {
			records.Or(
				records.AttributeConstraint{Name: "java", Values: []string{"1.8", "1.9"}},
				records.And(records.AttributeConstraint{Name: "os", Not: true, Values: []string{"x"}})),
			`compositeConstraint { compositeType: OR
				childConstraints { simpleConstraint { scope: "node" minCardinality: -1 maxCardinality: -1 attributeOpCode: EQ
					targetExpressions { targetType: NODE_ATTRIBUTE targetKey: "java" targetValues: "1.8" targetValues: "1.9" } } }
				childConstraints { compositeConstraint { compositeType: AND
					childConstraints { simpleConstraint { scope: "node" minCardinality: -1 maxCardinality: -1 attributeOpCode: NE
						targetExpressions { targetType: NODE_ATTRIBUTE targetKey: "os" targetValues: "x" } } } } } }`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want yarnpb.PlacementConstraintProto
			if err := prototext.Unmarshal([]byte(test.want), &want); err != nil {
				t.Fatal(err)
			}
			got := PlacementConstraintProto(test.constraint)
			if diff := cmp.Diff(&want, got, protocmp.Transform()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err := proto.CheckInitialized(got); err != nil {
				t.Error(err)
			}
		})
	}
	if PlacementConstraintProto(nil) != nil {
		t.Error("no constraint becomes one")
	}
}
