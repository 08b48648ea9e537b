package config

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Range is the allowed interval of a number, a duration or a size. Its ends are written like the
// option's values. An empty end is open.
type Range struct {
	Least, Above string // the value is at least Least, or more than Above
	Most, Below  string // it is at most Most, or less than Below
}

// String describes the range for users: "more than 0 and at most 1".
func (r Range) String() string {
	var ends []string
	for _, end := range []struct{ how, text string }{
		{"at least ", r.Least}, {"more than ", r.Above}, {"at most ", r.Most}, {"less than ", r.Below},
	} {
		if end.text != "" {
			ends = append(ends, end.how+end.text)
		}
	}
	return strings.Join(ends, " and ")
}

// inRange reports whether a value of the option is within its range.
func (d Definition) inRange(value any) bool {
	against := func(end string) int { return compare(value, d.mustParse(end)) }
	r := d.Range
	return (r.Least == "" || against(r.Least) >= 0) && (r.Above == "" || against(r.Above) > 0) &&
		(r.Most == "" || against(r.Most) <= 0) && (r.Below == "" || against(r.Below) < 0)
}

// outOfRange returns the fault of a value that is not in the range.
func (d Definition) outOfRange(text string) error {
	return &Fault{What: fmt.Sprintf("option %s: %s is out of range", d.Key.Name(), strings.TrimSpace(text)), Remedy: "want " + d.Range.String()}
}

// compare compares two values of an ordered kind.
func compare(a, b any) int {
	switch a := a.(type) {
	case int:
		return cmp.Compare(a, b.(int))
	case float64:
		return cmp.Compare(a, b.(float64))
	case time.Duration:
		return cmp.Compare(a, b.(time.Duration))
	case Bytes:
		return cmp.Compare(a, b.(Bytes))
	default:
		panic(fmt.Sprintf("config: values of type %T have no order", a))
	}
}
