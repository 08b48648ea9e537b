package records

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// ResourceValues holds amounts by the name of their resource type (Resource#getResources).
// The amount of a missing type is 0; amounts of 0 are not stored. Two are equal by == if
// numbers and units of all amounts are equal. The zero value is empty.
//
// Make it with NewResourceValues or Resource.With, and read it with Map or Amount.
type ResourceValues struct {
	// text holds the amounts as a JSON object with sorted keys; empty if there are none.
	// Unlike a map, a string can be compared, and copies can share it.
	text string
}

// NewResourceValues makes ResourceValues from a map, which it does not keep. It leaves out
// names that are not valid UTF-8, because no cluster has such a type. An invalid unit
// counts as no unit, like an unknown one.
func NewResourceValues(amounts map[string]ResourceAmount) ResourceValues {
	some := maps.Clone(amounts)
	maps.DeleteFunc(some, func(name string, a ResourceAmount) bool { return a.Value == 0 || !utf8.ValidString(name) })
	for name, a := range some {
		if !utf8.ValidString(a.Units) { // JSON could hold it in two ways
			some[name] = ResourceAmount{Value: a.Value}
		}
	}
	if len(some) == 0 {
		return ResourceValues{}
	}
	text, err := json.Marshal(some)
	if err != nil {
		panic("records: marshal of strings and numbers: " + err.Error())
	}
	return ResourceValues{text: string(text)}
}

// Map returns the amounts by name. The caller owns the map, which is nil if there are none.
func (v ResourceValues) Map() map[string]ResourceAmount {
	if v.IsZero() {
		return nil
	}
	var amounts map[string]ResourceAmount
	if err := json.Unmarshal([]byte(v.text), &amounts); err != nil {
		panic("records: unmarshal of what was marshalled: " + err.Error())
	}
	return amounts
}

// IsZero reports whether there are no amounts.
func (v ResourceValues) IsZero() bool { return v.text == "" }

// Equal is ==, for packages that compare with a method Equal.
func (v ResourceValues) Equal(other ResourceValues) bool { return v == other }

// Amount returns the amount of a type.
func (v ResourceValues) Amount(name string) ResourceAmount { return v.Map()[name] }

// String returns Hadoop's form, such as example.com/disk: 5Gi, yarn.io/gpu: 2, in the order
// of names.
func (v ResourceValues) String() string {
	amounts := v.Map()
	parts := make([]string, 0, len(amounts))
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		parts = append(parts, fmt.Sprintf("%s: %s", name, amounts[name]))
	}
	return strings.Join(parts, ", ")
}

func (v ResourceValues) with(name string, amount ResourceAmount) ResourceValues {
	amounts := v.Map()
	if amounts == nil {
		amounts = make(map[string]ResourceAmount)
	}
	amounts[name] = amount
	return NewResourceValues(amounts)
}

func (v ResourceValues) fits(whole ResourceValues) bool {
	if v == whole {
		return true
	}
	there := whole.Map()
	//bobbin:anyorder all have to fit
	for name, amount := range v.Map() {
		if amount.compare(there[name]) > 0 {
			return false
		}
	}
	return true
}

func (v ResourceValues) add(other ResourceValues) ResourceValues {
	if other.IsZero() {
		return v
	}
	sum := v.Map()
	if sum == nil {
		return other
	}
	//bobbin:anyorder each type has its own sum
	for name, amount := range other.Map() {
		if before, is := sum[name]; is {
			amount = ResourceAmount{Value: before.Value + amount.in(before.Units), Units: before.Units}
		}
		sum[name] = amount
	}
	return NewResourceValues(sum)
}

func (v ResourceValues) times(n int64) ResourceValues {
	if v.IsZero() || n == 1 {
		return v
	}
	amounts := v.Map()
	for name, amount := range amounts {
		amounts[name] = ResourceAmount{Value: amount.Value * n, Units: amount.Units}
	}
	return NewResourceValues(amounts)
}
