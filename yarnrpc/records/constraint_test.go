package records

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The forms are those of Hadoop's TestPlacementConstraintParser and of
// DistributedShell's help.
func TestParsePlacementConstraint(t *testing.T) {
	t.Parallel()
	app := ApplicationID{ClusterTimestamp: 12, ID: 3}
	tests := map[string]struct {
		text string
		want PlacementConstraint
	}{
		"affinity":                     {"in,node,foo", Near(ScopeNode, OwnTags("foo")...)},
		"affinity to a rack's many":    {"IN, RACK ,foo,,bar", Near(ScopeRack, OwnTags("foo", "bar")...)},
		"anti-affinity":                {"NotIn,node,foo", Apart(ScopeNode, OwnTags("foo")...)},
		"namespaces":                   {"notin,node,all/a,not-self/b,self/c", Apart(ScopeNode, AllocationTag{TagsOfAll, "a"}, AllocationTag{TagsOfOthers, "b"}, AllocationTag{TagsOfSelf, "c"})},
		"a namespace that names an id": {"in,node,app-id/application_12_0003/a,app-tag/t/b", Near(ScopeNode, AllocationTag{OfApplication(app), "a"}, AllocationTag{OfApplicationsTagged("t"), "b"})},
		"cardinality":                  {"cardinality,node,foo,bar,0,3", Among(ScopeNode, 0, 3, OwnTags("foo", "bar")...)},
		"an attribute":                 {"java=1.8", AttributeConstraint{Name: "java", Values: []string{"1.8"}}},
		"an attribute of many values":  {"rm.yarn.io/python!=2,3", AttributeConstraint{Name: "rm.yarn.io/python", Not: true, Values: []string{"2", "3"}}},
		"an attribute called in":       {"in=1", AttributeConstraint{Name: "in", Values: []string{"1"}}},
		"an attribute called android":  {"android=1", AttributeConstraint{Name: "android", Values: []string{"1"}}},
		"all of several": {"and(cardinality,node,foo,0,4:in,node,bar)", And(
			Among(ScopeNode, 0, 4, OwnTags("foo")...), Near(ScopeNode, OwnTags("bar")...))},
		"nested": {"OR(in,node,moo:AND(notin,node,bar,moo:java=1.8))", Or(Near(ScopeNode, OwnTags("moo")...),
			And(Apart(ScopeNode, OwnTags("bar", "moo")...), AttributeConstraint{Name: "java", Values: []string{"1.8"}}))},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParsePlacementConstraint(test.text)
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			again, err := ParsePlacementConstraint(test.want.String())
			if diff := cmp.Diff(test.want, again); err != nil || diff != "" {
				t.Errorf("from %q: %v (-want +got):\n%s", test.want, err, diff)
			}
		})
	}
}

func TestPlacementConstraintsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"nothing":                     "",
		"no tag":                      "in,node",
		"an unknown scope":            "in,host,foo",
		"an unknown word":             "near,node,foo",
		"an unknown namespace":        "in,node,mine/foo",
		"a namespace without its id":  "in,node,app-id/foo",
		"a cardinality without bound": "cardinality,node,foo,1",
		"bounds that cross":           "cardinality,node,foo,3,1",
		"a negative bound":            "cardinality,node,foo,-1,1",
		"a bound too large":           "cardinality,node,foo,0,2147483648",
		"an open bracket":             "and(in,node,foo",
		"a bracket too many":          "and(in,node,foo))",
		"an empty conjunction":        "and()",
		"an attribute without value":  "java=",
		"two attributes":              "java=1,python=2",
		"nested too deep":             strings.Repeat("and(", 40) + "in,node,a" + strings.Repeat(")", 40),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c, err := ParsePlacementConstraint(text); !errors.Is(err, ErrPlacementSyntax) || c != nil {
				t.Errorf("%q is %v, %v", text, c, err)
			}
		})
	}
}

func TestParsePlacementSpec(t *testing.T) {
	t.Parallel()
	zk := PlacementSpec{Tag: "zk", Count: 3, Constraint: Apart(ScopeNode, OwnTags("zk")...)}
	tests := map[string]struct {
		text string
		want []PlacementSpec
	}{
		"a tag alone":        {"foo(3)", []PlacementSpec{{Tag: "foo", Count: 3}}},
		"one":                {"zk(3),notin,node,zk", []PlacementSpec{zk}},
		"an attribute alone": {"java=1.8", []PlacementSpec{{Constraint: AttributeConstraint{Name: "java", Values: []string{"1.8"}}}}},
		"several": {"zk(3),notin,node,zk:hbase(5),and(in,rack,zk:java!=7):spark(7)", []PlacementSpec{
			zk,
			{Tag: "hbase", Count: 5, Constraint: And(Near(ScopeRack, OwnTags("zk")...), AttributeConstraint{Name: "java", Not: true, Values: []string{"7"}})},
			{Tag: "spark", Count: 7},
		}},
		"no count":               {"foo(x),in,node,foo", nil},
		"no tag":                 {"in,node,foo", nil},
		"a constraint too late":  {"foo(3):java=1.8", nil},
		"an unfinished count":    {"foo(3", nil},
		"a count of nothing":     {"(3),in,node,foo", nil},
		"a refused constraint":   {"foo(3),in,node", nil},
		"nothing":                {":", nil},
		"a bracket of the other": {"foo)3(", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParsePlacementSpec(test.text)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if refused := errors.Is(err, ErrPlacementSyntax); refused != (test.want == nil) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// FuzzParsePlacementSpec would catch a panic, and a text whose meaning changes when it is
// written again.
func FuzzParsePlacementSpec(f *testing.F) {
	for _, text := range []string{
		"zk(3),notin,node,zk:hbase(5),and(in,rack,zk:java!=7):spark(7)",
		"java=1.8,1.9", "foo(1),cardinality,node,all/a,app-tag/t/b,0,3",
		"a(1),or(in,node,app-id/application_1_0001/b:and(x=1:y!=2))", "a(1),in,node", "a(1)),(", "=", "a(1),!==",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		specs, err := ParsePlacementSpec(text)
		if err != nil {
			if !errors.Is(err, ErrPlacementSyntax) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		words := make([]string, len(specs))
		for i, spec := range specs {
			words[i] = spec.String()
		}
		again, err := ParsePlacementSpec(strings.Join(words, ":"))
		if diff := cmp.Diff(specs, again); err != nil || diff != "" {
			t.Errorf("%q is written as %q: %v (-read +read again):\n%s", text, words, err, diff)
		}
	})
}
