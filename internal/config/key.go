package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Key is the name of an option and the type of its value. Only the types below implement it.
type Key interface {
	// Name returns the option's name in files and on command lines.
	Name() string
	// kind returns the name of the type in the reference.
	kind() string
	// parse returns the value, with the type that Config's method for this key returns.
	parse(text string, d Definition) (any, error)
}

// The kinds of options.
type (
	// StringKey names any text.
	StringKey string
	// IntKey names a whole number.
	IntKey string
	// FractionKey names a number such as 0.4.
	FractionKey string
	// BoolKey names true or false.
	BoolKey string
	// DurationKey names a duration: "10 s", "100 ms", "5 min". A bare number counts
	// Definition.Unit.
	DurationKey string
	// MemoryKey names a size: "512m", "1g", "64 kb". A bare number counts bytes.
	MemoryKey string
	// PortsKey names ports: "0", "50100-50200", "8081,9000-9010".
	PortsKey string
	// PrefixKey ends with ".". It names text options: all whose names begin with it.
	PrefixKey string
)

// Definition is a row of the table.
type Definition struct {
	Section string // the heading of the reference above this row; "" continues the section before
	Key     Key
	Default string
	// Otherwise is another default, which another option decides.
	Otherwise Otherwise
	Unit      time.Duration // of a bare number in a duration; 0 means ms
	Range     Range         // of numbers, times and sizes
	Choices   []string      // the allowed texts; empty: any text
	Also      []string      // their other spellings in Flink, as "other=choice"
	Refused   []string      // Flink's other values, in lower case, as "value=why"
	Origin    string        // whose option it is, and Flink's default if ours differs
	Doc       string
}

// Otherwise is a default that depends on another option, whose own default depends on none. The zero
// value depends on none.
type Otherwise struct {
	Key     StringKey
	Value   string // of Key, with which Default is the default
	Default string
}

// defaultIn returns the option's default beside the other options.
func (d Definition) defaultIn(c Config) string {
	if o := d.Otherwise; o.Key != "" && c.String(o.Key) == o.Value {
		return o.Default
	}
	return d.Default
}

// refusal returns the fault of a value that Flink has and Bobbin does not; nil for other values.
func (d Definition) refusal(text string) *Fault {
	for _, refused := range d.Refused {
		if value, why, _ := strings.Cut(refused, "="); strings.EqualFold(value, text) {
			return &Fault{What: fmt.Sprintf("option %s: %s %s", d.Key.Name(), text, why), Remedy: "choose " + strings.Join(d.Choices, " or ")}
		}
	}
	return nil
}

// Name is the option's name.
func (k StringKey) Name() string { return string(k) }

// Name is the option's name.
func (k IntKey) Name() string { return string(k) }

// Name is the option's name.
func (k FractionKey) Name() string { return string(k) }

// Name is the option's name.
func (k BoolKey) Name() string { return string(k) }

// Name is the option's name.
func (k DurationKey) Name() string { return string(k) }

// Name is the option's name.
func (k MemoryKey) Name() string { return string(k) }

// Name is the option's name.
func (k PortsKey) Name() string { return string(k) }

// Name is the prefix and a star.
func (k PrefixKey) Name() string { return string(k) + "*" }

func (StringKey) kind() string   { return "text" }
func (IntKey) kind() string      { return "integer" }
func (FractionKey) kind() string { return "number" }
func (BoolKey) kind() string     { return "boolean" }
func (DurationKey) kind() string { return "duration" }
func (MemoryKey) kind() string   { return "memory" }
func (PortsKey) kind() string    { return "ports" }
func (PrefixKey) kind() string   { return "text" }

func (StringKey) parse(text string, d Definition) (any, error) {
	if len(d.Choices) == 0 {
		return text, nil
	}
	for _, choice := range d.Choices {
		if strings.EqualFold(choice, text) || slices.Contains(d.Also, strings.ToLower(text)+"="+choice) {
			return choice, nil
		}
	}
	if fault := d.refusal(text); fault != nil {
		return nil, fault
	}
	return nil, fmt.Errorf("%q is none of %s: %w", text, strings.Join(d.Choices, ", "), ErrInvalid)
}

func (IntKey) parse(text string, _ Definition) (any, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32) // as Flink's integers
	if err != nil {
		return nil, fmt.Errorf("%q is not a whole number: %w", text, ErrInvalid)
	}
	return int(n), nil
}

func (FractionKey) parse(text string, _ Definition) (any, error) {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return nil, fmt.Errorf("%q is not a number: %w", text, ErrInvalid)
	}
	return x, nil
}

func (BoolKey) parse(text string, _ Definition) (any, error) {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return nil, fmt.Errorf("%q is neither true nor false: %w", text, ErrInvalid)
}

func (DurationKey) parse(text string, d Definition) (any, error) {
	return parseDuration(text, max(d.Unit, time.Millisecond))
}

func (MemoryKey) parse(text string, _ Definition) (any, error) { return parseMemory(text, Byte) }

func (PortsKey) parse(text string, _ Definition) (any, error) { return parsePorts(text) }

func (PrefixKey) parse(text string, _ Definition) (any, error) { return text, nil }
