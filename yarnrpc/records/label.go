package records

import (
	"fmt"
	"strings"
)

// NodeLabel divides a cluster into partitions: a node has at most one.
type NodeLabel struct {
	Name string
	// Exclusive reserves the label's nodes for applications that ask for the label. Otherwise other
	// applications may use the nodes while they are idle.
	Exclusive bool
}

// Prefixes of node attributes (NodeAttribute).
const (
	AttributeCentralized = "rm.yarn.io" // set by an administrator
	AttributeDistributed = "nm.yarn.io" // reported by the NodeManager
)

// NodeAttributeKey identifies a node attribute: prefix/name.
type NodeAttributeKey struct {
	Prefix string // AttributeCentralized, AttributeDistributed or one of the administrator's own
	Name   string
}

func (k NodeAttributeKey) String() string { return k.Prefix + "/" + k.Name }

// ParseNodeAttributeKey reads the text form. The default prefix is AttributeCentralized.
func ParseNodeAttributeKey(s string) (NodeAttributeKey, error) {
	prefix, name, has := strings.Cut(s, "/")
	if !has {
		prefix, name = AttributeCentralized, s
	}
	if prefix == "" || name == "" || strings.Contains(name, "/") {
		return NodeAttributeKey{}, fmt.Errorf("parse node attribute %q: %w: want prefix/name", s, ErrMalformed)
	}
	return NodeAttributeKey{Prefix: prefix, Name: name}, nil
}

// MarshalText returns the text form: in JSON, attribute keys are strings and keys.
func (k NodeAttributeKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the text form.
func (k *NodeAttributeKey) UnmarshalText(text []byte) (err error) {
	*k, err = ParseNodeAttributeKey(string(text))
	return err
}

// NodeAttribute is a property of a node, to which placement constraints refer.
type NodeAttribute struct {
	Key   NodeAttributeKey
	Type  NodeAttributeType
	Value string
}

// NodeAttributeType is the type of an attribute's values.
type NodeAttributeType string

// AttributeString is the only type in Hadoop.
const AttributeString NodeAttributeType = "STRING"
