package records

import (
	"math"
	"strconv"
	"strings"
)

// PlacementScope is what a constraint counts in.
type PlacementScope string

const (
	ScopeNode PlacementScope = "node"
	ScopeRack PlacementScope = "rack"
)

// TagNamespace says whose containers a tag is looked for on; see OfApplication and
// OfApplicationsTagged for those that name somebody
// (org.apache.hadoop.yarn.api.records.AllocationTagNamespaceType).
type TagNamespace string

const (
	TagsOfSelf   TagNamespace = "self" // the asking application's
	TagsOfOthers TagNamespace = "not-self"
	TagsOfAll    TagNamespace = "all"

	applicationNamespace    = "app-id"
	applicationTagNamespace = "app-tag"
)

// OfApplication is the namespace of one application.
func OfApplication(id ApplicationID) TagNamespace {
	return TagNamespace(applicationNamespace + "/" + id.String())
}

// OfApplicationsTagged is the namespace of all applications that were submitted
// with a tag.
func OfApplicationsTagged(tag string) TagNamespace {
	return TagNamespace(applicationTagNamespace + "/" + tag)
}

// AllocationTag is a tag on containers, by which constraints find them.
type AllocationTag struct {
	Namespace TagNamespace // empty: TagsOfSelf
	Name      string
}

// OwnTags are tags of the asking application.
func OwnTags(names ...string) []AllocationTag {
	tags := make([]AllocationTag, len(names))
	for i, name := range names {
		tags[i] = AllocationTag{Namespace: TagsOfSelf, Name: name}
	}
	return tags
}

func (t AllocationTag) String() string {
	if t.Namespace == "" || t.Namespace == TagsOfSelf {
		return t.Name
	}
	return string(t.Namespace) + "/" + t.Name
}

// PlacementConstraint limits where containers go: a TagConstraint, an
// AttributeConstraint or a CompositeConstraint. String gives the text that
// ParsePlacementConstraint reads. Java's further kind, DELAYED_OR, is refused by
// every scheduler of Hadoop 3 and left out
// (org.apache.hadoop.yarn.api.resource.PlacementConstraint).
type PlacementConstraint interface {
	String() string
	placementConstraint()
}

// TagConstraint wants, for each of Tags, between Min and Max containers with it on
// the node or the rack, before the new one is placed.
type TagConstraint struct {
	Scope    PlacementScope
	Min, Max int // Max math.MaxInt32: any number
	Tags     []AllocationTag
	// Partition chooses the nodes with a node label. It counts only in a constraint
	// that is not part of another, and has no text form.
	Partition string
}

// Near wants a container with each of the tags in the scope: affinity.
func Near(scope PlacementScope, tags ...AllocationTag) TagConstraint {
	return TagConstraint{Scope: scope, Min: 1, Max: math.MaxInt32, Tags: tags}
}

// Apart wants no container with any of the tags in the scope: anti-affinity.
func Apart(scope PlacementScope, tags ...AllocationTag) TagConstraint {
	return TagConstraint{Scope: scope, Tags: tags}
}

// Among wants between low and high containers with each of the tags in the scope.
func Among(scope PlacementScope, low, high int, tags ...AllocationTag) TagConstraint {
	return TagConstraint{Scope: scope, Min: low, Max: high, Tags: tags}
}

func (TagConstraint) placementConstraint() {}

func (c TagConstraint) String() string {
	words := []string{cardinalityWord, string(c.Scope)}
	counted := false
	switch {
	case c.Min == 1 && c.Max == math.MaxInt32:
		words[0] = nearWord
	case c.Min == 0 && c.Max == 0:
		words[0] = apartWord
	default:
		counted = true
	}
	for _, tag := range c.Tags {
		words = append(words, tag.String())
	}
	if counted {
		words = append(words, strconv.Itoa(c.Min), strconv.Itoa(c.Max))
	}
	return strings.Join(words, ",")
}

// AttributeConstraint wants nodes whose attribute has one of Values, or, with Not,
// none of them.
type AttributeConstraint struct {
	Name   string // without a prefix YARN takes rm.yarn.io/
	Not    bool
	Values []string
}

func (AttributeConstraint) placementConstraint() {}

func (c AttributeConstraint) String() string {
	operator := "="
	if c.Not {
		operator = "!="
	}
	return c.Name + operator + strings.Join(c.Values, ",")
}

// CompositeConstraint joins constraints.
type CompositeConstraint struct {
	Any      bool // one of Children is enough; otherwise all are wanted
	Children []PlacementConstraint
}

// And wants all constraints to hold.
func And(children ...PlacementConstraint) CompositeConstraint {
	return CompositeConstraint{Children: children}
}

// Or wants at least one constraint to hold.
func Or(children ...PlacementConstraint) CompositeConstraint {
	return CompositeConstraint{Any: true, Children: children}
}

func (CompositeConstraint) placementConstraint() {}

func (c CompositeConstraint) String() string {
	word := andWord
	if c.Any {
		word = orWord
	}
	children := make([]string, len(c.Children))
	for i, child := range c.Children {
		children[i] = child.String()
	}
	return word + "(" + strings.Join(children, ":") + ")"
}
