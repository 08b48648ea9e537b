package flinkrest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Kinds of JSON values. A whole number is an integer: "1", but not "1.0".
const (
	kindNull    = "null"
	kindBoolean = "boolean"
	kindInteger = "integer"
	kindNumber  = "number"
	kindString  = "string"
	kindArray   = "array"
	kindObject  = "object"
)

// shape is what the values at one place of an endpoint's answers have in common.
type shape struct {
	kinds   map[string]bool
	objects int               // how many values were objects
	fields  map[string]*shape // of objects, by name
	present int               // of a field: how many objects had it
	elem    *shape            // of arrays, and of objects that are maps; nil: none was seen
	isMap   bool              // names of fields are data
	closed  bool              // names of fields are states: all of them are there, and no other names
	time    bool              // a point in time, in ms since 1970, was seen
	amount  bool              // a number above 0 was seen that is not a point in time
	noID    bool              // a text was seen that is not an id of 32 hex digits
}

func newShape() *shape { return &shape{kinds: make(map[string]bool), fields: make(map[string]*shape)} }

// decode reads a value, with its numbers unchanged.
func decode(body []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("after the value of %d bytes there is more", decoder.InputOffset())
	}
	return value, nil
}

func kindOf(value any) string {
	switch value := value.(type) {
	case nil:
		return kindNull
	case bool:
		return kindBoolean
	case json.Number:
		if strings.ContainsAny(value.String(), ".eE") {
			return kindNumber
		}
		return kindInteger
	case string:
		return kindString
	case []any:
		return kindArray
	}
	return kindObject
}

// Points in time lie between 1998 and 2286.
const (
	earliest = 900_000_000_000 // ms since 1970
	latest   = 9_999_999_999_999
)

// isTime reports whether a number can be such a point in time.
func isTime(n json.Number) bool {
	ms, err := n.Int64()
	return err == nil && ms >= earliest && ms <= latest
}

// isAmount reports whether a number is above 0, and not a point in time.
func isAmount(n json.Number) bool {
	v, err := n.Float64()
	return err == nil && v > 0 && !isTime(n)
}

// isID reports whether a text has the form of an id of a job, vertex or operation.
func isID(text string) bool { return len(text) == 32 && strings.Trim(text, "0123456789abcdef") == "" }

// dynamicNames are fields of objects whose names are data.
var dynamicNames = []string{
	"user-config", "failureLabels", "extendedResources", "accumulator-results", "serialized-user-task-accumulators",
}

// learner makes shapes from recorded values.
type learner struct {
	states [][]string // values of Flink's enumerations
}

// add adds a recorded value to a shape. name is that of its field.
func (l learner) add(s *shape, name string, value any) {
	s.kinds[kindOf(value)] = true
	switch value := value.(type) {
	case json.Number:
		s.time = s.time || isTime(value)
		s.amount = s.amount || isAmount(value)
	case string:
		s.noID = s.noID || !isID(value)
	case []any:
		for _, element := range value {
			l.addElement(s, element)
		}
	case map[string]any:
		s.objects++
		if isMap(name, value) {
			s.isMap = true
			for _, element := range value {
				l.addElement(s, element)
			}
			return
		}
		s.closed = s.closed || l.namesStates(value)
		for name, field := range value {
			if s.fields[name] == nil {
				s.fields[name] = newShape()
			}
			s.fields[name].present++
			l.add(s.fields[name], name, field)
		}
	}
}

func (l learner) addElement(s *shape, element any) {
	if s.elem == nil {
		s.elem = newShape()
	}
	l.add(s.elem, "", element)
}

// isMap reports whether an object's names are data: texts of users, or ids.
func isMap(name string, object map[string]any) bool {
	if slices.Contains(dynamicNames, name) {
		return true
	}
	for name := range object {
		if !isID(name) {
			return false
		}
	}
	return len(object) > 0
}

// namesStates reports whether an object has a field for each of several states.
func (l learner) namesStates(object map[string]any) bool {
	for _, states := range l.states {
		strangers := 0
		for name := range object {
			if !slices.Contains(states, strings.ToUpper(name)) && name != "total" {
				strangers++
			}
		}
		if strangers == 0 && len(object) >= fewStates {
			return true
		}
	}
	return false
}

// fewStates is the least number of names of an object of states.
const fewStates = 4
