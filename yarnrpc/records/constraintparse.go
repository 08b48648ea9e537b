package records

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The words of the text form (PlacementConstraintParser).
const (
	nearWord        = "in"
	apartWord       = "notin"
	cardinalityWord = "cardinality"
	andWord         = "and"
	orWord          = "or"
)

// maxConstraintDepth bounds the nesting of constraints in a text.
const maxConstraintDepth = 32

// ErrPlacementSyntax is wrapped by all errors of ParsePlacementConstraint and
// ParsePlacementSpec.
var ErrPlacementSyntax = errors.New("placement constraint not understood")

// PlacementSpec is one part of a specification: Count containers with a tag, under
// a constraint.
type PlacementSpec struct {
	Tag        string
	Count      int
	Constraint PlacementConstraint // nil: none
}

func (s PlacementSpec) String() string {
	switch {
	case s.Constraint == nil:
		return fmt.Sprintf("%s(%d)", s.Tag, s.Count)
	case s.Tag == "":
		return s.Constraint.String()
	default:
		return fmt.Sprintf("%s(%d),%s", s.Tag, s.Count, s.Constraint)
	}
}

// ParsePlacementSpec reads the form of DistributedShell's -placement_spec
// (PlacementConstraintParser#parsePlacementSpec): parts joined by colons, each
// TAG(COUNT) or TAG(COUNT),CONSTRAINT. It may also be only one constraint on node
// attributes; then Tag is empty and Count is 0.
func ParsePlacementSpec(text string) ([]PlacementSpec, error) {
	parts, err := splitConstraints(text)
	if err != nil {
		return nil, err
	}
	var specs []PlacementSpec
	for _, part := range parts {
		spec, err := parseSpecPart(part)
		if err != nil {
			return nil, err
		}
		if spec.Tag == "" && len(parts) > 1 {
			return nil, syntaxError("%q needs a tag and a count before it, as in zk(3),%s, since there are other parts", part, part)
		}
		specs = append(specs, spec)
	}
	return specs, nil
}

func parseSpecPart(part string) (PlacementSpec, error) {
	source, constraint, constrained := strings.Cut(part, "),")
	if !constrained {
		if c, err := parseAttribute(part); err == nil {
			return PlacementSpec{Constraint: c}, nil
		}
		source, constrained = strings.CutSuffix(part, ")")
		if !constrained {
			return PlacementSpec{}, syntaxError("%q is neither TAG(COUNT) nor ATTRIBUTE=VALUE", part)
		}
	}
	tag, digits, ok := strings.Cut(source, "(")
	tag = strings.TrimSpace(tag)
	if !ok || checkName(tag) != nil {
		return PlacementSpec{}, syntaxError("%q does not begin with TAG(COUNT)", part)
	}
	count, err := parseCount(digits)
	if err != nil {
		return PlacementSpec{}, err
	}
	spec := PlacementSpec{Tag: tag, Count: count}
	if constraint != "" {
		spec.Constraint, err = ParsePlacementConstraint(constraint)
	}
	return spec, err
}

// ParsePlacementConstraint reads the text form of a constraint:
//
//	in,SCOPE,TAG,…                    Near; SCOPE is node or rack
//	notin,SCOPE,TAG,…                 Apart
//	cardinality,SCOPE,TAG,…,MIN,MAX   Among
//	NAME=VALUE,…  or  NAME!=VALUE,…   AttributeConstraint
//	and(CONSTRAINT:…)  or(CONSTRAINT:…)
//
// A TAG may begin with its namespace: self/, not-self/, all/, app-id/ID/ or
// app-tag/TAG/ (PlacementConstraintParser#parseExpression). Java's parser does not
// have the last two.
func ParsePlacementConstraint(text string) (PlacementConstraint, error) {
	return parseConstraint(strings.TrimSpace(text), maxConstraintDepth)
}

func parseConstraint(text string, depth int) (PlacementConstraint, error) {
	if depth == 0 {
		return nil, syntaxError("nested deeper than %d", maxConstraintDepth)
	}
	if word, rest, ok := strings.Cut(text, "("); ok {
		word = strings.TrimSpace(word)
		if isAnd := strings.EqualFold(word, andWord); isAnd || strings.EqualFold(word, orWord) {
			return parseComposite(!isAnd, rest, depth)
		}
	}
	switch word, rest, _ := strings.Cut(text, ","); strings.ToLower(strings.TrimSpace(word)) {
	case nearWord:
		scope, tags, err := parseTags(rest)
		return orNil(Near(scope, tags...), err)
	case apartWord:
		scope, tags, err := parseTags(rest)
		return orNil(Apart(scope, tags...), err)
	case cardinalityWord:
		return parseCardinality(rest)
	}
	return parseAttribute(text)
}

func orNil(c PlacementConstraint, err error) (PlacementConstraint, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}

func parseComposite(anyOf bool, text string, depth int) (PlacementConstraint, error) {
	inner, closed := strings.CutSuffix(text, ")")
	if !closed {
		return nil, syntaxError("%q does not end with a bracket", text)
	}
	parts, err := splitConstraints(inner)
	if err != nil {
		return nil, err
	}
	c := CompositeConstraint{Any: anyOf}
	for _, part := range parts {
		child, err := parseConstraint(part, depth-1)
		if err != nil {
			return nil, err
		}
		c.Children = append(c.Children, child)
	}
	return c, nil
}

// splitConstraints splits a text at the colons outside of brackets.
func splitConstraints(text string) ([]string, error) {
	var parts []string
	depth, start := 0, 0
	for i := 0; i <= len(text); i++ {
		switch {
		case i == len(text) || text[i] == ':' && depth == 0:
			if part := strings.TrimSpace(text[start:i]); part != "" {
				parts = append(parts, part)
			}
			start = i + 1
		case text[i] == '(':
			depth++
		case text[i] == ')':
			depth--
		}
		if depth < 0 {
			break
		}
	}
	if depth != 0 {
		return nil, syntaxError("brackets of %q do not match", text)
	}
	if len(parts) == 0 {
		return nil, syntaxError("a constraint is missing in %q", text)
	}
	return parts, nil
}

func parseCardinality(text string) (PlacementConstraint, error) {
	words := wordsOf(text)
	if len(words) < 4 {
		return nil, syntaxError("%q is not %s,SCOPE,TAG,…,MIN,MAX", text, cardinalityWord)
	}
	last := len(words) - 2
	low, lowError := parseCount(words[last])
	high, highError := parseCount(words[last+1])
	if err := errors.Join(lowError, highError); err != nil {
		return nil, err
	}
	if low > high {
		return nil, syntaxError("the minimum cardinality %d is above the maximum, %d", low, high)
	}
	scope, tags, err := tagsOf(words[:last])
	return orNil(Among(scope, low, high, tags...), err)
}

func parseTags(text string) (PlacementScope, []AllocationTag, error) { return tagsOf(wordsOf(text)) }

func tagsOf(words []string) (PlacementScope, []AllocationTag, error) {
	if len(words) < 2 {
		return "", nil, syntaxError("%q lacks a scope or a tag", strings.Join(words, ","))
	}
	scope := PlacementScope(strings.ToLower(words[0]))
	if scope != ScopeNode && scope != ScopeRack {
		return "", nil, syntaxError("scope %q is neither %s nor %s", words[0], ScopeNode, ScopeRack)
	}
	tags := make([]AllocationTag, len(words)-1)
	for i, word := range words[1:] {
		var err error
		if tags[i], err = parseTag(word); err != nil {
			return "", nil, err
		}
	}
	return scope, tags, nil
}

func parseTag(text string) (AllocationTag, error) {
	namespace, name := TagsOfSelf, text
	if i := strings.LastIndexByte(text, '/'); i >= 0 {
		namespace, name = TagNamespace(text[:i]), text[i+1:]
		if err := checkNamespace(namespace); err != nil {
			return AllocationTag{}, err
		}
	}
	if err := checkName(name); err != nil {
		return AllocationTag{}, err
	}
	return AllocationTag{Namespace: namespace, Name: name}, nil
}

func checkNamespace(namespace TagNamespace) error {
	if slices.Contains([]TagNamespace{TagsOfSelf, TagsOfOthers, TagsOfAll}, namespace) {
		return nil
	}
	kind, of, _ := strings.Cut(string(namespace), "/")
	switch kind {
	case applicationNamespace:
		if _, err := ParseApplicationID(of); err != nil {
			return syntaxError("namespace %q: %v", namespace, err)
		}
		return nil
	case applicationTagNamespace:
		return checkName(of)
	default:
		return syntaxError("namespace %q is none of self, not-self, all, app-id/ID and app-tag/TAG", namespace)
	}
}

func parseAttribute(text string) (PlacementConstraint, error) {
	words := wordsOf(text)
	if len(words) == 0 {
		return nil, syntaxError("a constraint is missing")
	}
	name, value, ok := strings.Cut(words[0], "=")
	name, not := strings.CutSuffix(name, "!")
	name, words[0] = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || strings.ContainsAny(name, "():!") || name == "" {
		return nil, syntaxError("%q begins with none of in, notin, cardinality, and(, or(, ATTRIBUTE= and ATTRIBUTE!=", text)
	}
	for _, value := range words {
		if err := checkName(value); err != nil {
			return nil, err
		}
	}
	return AttributeConstraint{Name: name, Not: not, Values: words}, nil
}

// checkName refuses names that a parser would read as something else.
func checkName(name string) error {
	if name == "" || strings.TrimSpace(name) != name || strings.ContainsAny(name, "(),:=!/") {
		return syntaxError("%q is not a tag or value", name)
	}
	return nil
}

// wordsOf splits a text at commas. Several commas in a row count as one.
func wordsOf(text string) []string {
	var words []string
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	return words
}

func parseCount(text string) (int, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 31)
	if err != nil {
		return 0, syntaxError("%q is not a number from 0 to 2147483647", text)
	}
	return int(n), nil
}

func syntaxError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrPlacementSyntax, fmt.Sprintf(format, args...))
}
