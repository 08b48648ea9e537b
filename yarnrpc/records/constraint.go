package records

import (
	"math"
	"strconv"
	"strings"
)

// PlacementScope is the area in which a constraint counts containers.
type PlacementScope string

const (
	ScopeNode PlacementScope = "node"
	ScopeRack PlacementScope = "rack"
)

// TagNamespace says which applications' containers a tag refers to. OfApplication
// and OfApplicationsTagged name certain applications
// (org.apache.hadoop.yarn.api.records.AllocationTagNamespaceType).
type TagNamespace string

const (
	TagsOfSelf   TagNamespace = "self" // the requesting application
	TagsOfOthers TagNamespace = "not-self"
	TagsOfAll    TagNamespace = "all"

	applicationNamespace    = "app-id"
	applicationTagNamespace = "app-tag"
)

// OfApplication returns the namespace of one application.
func OfApplication(id ApplicationID) TagNamespace {
	return TagNamespace(applicationNamespace + "/" + id.String())
}

// OfApplicationsTagged returns the namespace of all applications submitted with a
// tag.
func OfApplicationsTagged(tag string) TagNamespace {
	return TagNamespace(applicationTagNamespace + "/" + tag)
}

// AllocationTag is a tag on containers, to which placement constraints refer.
type AllocationTag struct {
	Namespace TagNamespace // empty: TagsOfSelf
	Name      string
}

// OwnTags returns tags of the requesting application.
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

// PlacementConstraint limits the places of containers. It is a TagConstraint, an
// AttributeConstraint or a CompositeConstraint. String returns the text that
// ParsePlacementConstraint reads. Java's DELAYED_OR is missing, because every
// scheduler of Hadoop 3 refuses it
// (org.apache.hadoop.yarn.api.resource.PlacementConstraint).
type PlacementConstraint interface {
	String() string
	placementConstraint()
}

// TagConstraint requires, for each of Tags, that the node or rack has between Min
// and Max containers with the tag before the new container is placed.
type TagConstraint struct {
	Scope    PlacementScope
	Min, Max int // Max math.MaxInt32: any number
	Tags     []AllocationTag
	// Partition chooses the nodes with a node label. It has an effect only if the
	// constraint is not part of another one. It has no text form.
	Partition string
}

// Near requires a container with each of the tags in the scope: affinity.
func Near(scope PlacementScope, tags ...AllocationTag) TagConstraint {
	return TagConstraint{Scope: scope, Min: 1, Max: math.MaxInt32, Tags: tags}
}

// Apart requires that no container in the scope has any of the tags: anti-affinity.
func Apart(scope PlacementScope, tags ...AllocationTag) TagConstraint {
	return TagConstraint{Scope: scope, Tags: tags}
}

// Among requires between low and high containers with each of the tags in the
// scope.
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

// AttributeConstraint requires nodes whose attribute has one of Values or, with
// Not, none of them.
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
	Any      bool // one of Children is enough; otherwise all must hold
	Children []PlacementConstraint
}

// And requires all constraints.
func And(children ...PlacementConstraint) CompositeConstraint {
	return CompositeConstraint{Children: children}
}

// Or requires at least one constraint.
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
