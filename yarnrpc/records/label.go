package records

import (
	"fmt"
	"strings"
)

// NodeLabel divides a cluster into partitions: a node has at most one.
type NodeLabel struct {
	Name string
	// Exclusive keeps the label's nodes for those who ask for the label. Others use them otherwise, while
	// they are idle.
	Exclusive bool
}

// Prefixes of node attributes (NodeAttribute).
const (
	AttributeCentralized = "rm.yarn.io" // given by an administrator
	AttributeDistributed = "nm.yarn.io" // told by the NodeManager
)

// NodeAttributeKey names an attribute of nodes: prefix/name.
type NodeAttributeKey struct {
	Prefix string // AttributeCentralized, AttributeDistributed or one of the administrator's own
	Name   string
}

func (k NodeAttributeKey) String() string { return k.Prefix + "/" + k.Name }

// ParseNodeAttributeKey reads the text form; a name without prefix is AttributeCentralized.
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

// MarshalText gives the text form, so that keys are strings and keys in JSON.
func (k NodeAttributeKey) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the text form.
func (k *NodeAttributeKey) UnmarshalText(text []byte) (err error) {
	*k, err = ParseNodeAttributeKey(string(text))
	return err
}

// NodeAttribute is a property of a node, for placement constraints to name.
type NodeAttribute struct {
	Key   NodeAttributeKey
	Type  NodeAttributeType
	Value string
}

// NodeAttributeType is the kind of an attribute's values.
type NodeAttributeType string

// AttributeString is the only type there is.
const AttributeString NodeAttributeType = "STRING"
