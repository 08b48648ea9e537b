package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Layer is a set of options from one place.
type Layer struct {
	// Source names the place for users: a file's path, "-D", "-tm".
	Source string
	Values map[string]string
	// Lines has the line of each value, if the source has lines.
	Lines map[string]int
}

func (l Layer) at(name string) string {
	if line, known := l.Lines[name]; known {
		return fmt.Sprintf("%s:%d", l.Source, line)
	}
	return l.Source
}

// Config holds the options of a process. The zero value holds the defaults. It is immutable and may
// be read from any goroutine.
type Config struct {
	set map[string]setting // set by a layer; other options have their defaults
}

type setting struct {
	text   string
	value  any // parsed; its type depends on the key's kind
	source string
}

// New makes a Config from layers. If several layers give an option, the last one counts. The error
// wraps ErrInvalid and lists all faults, each with its source.
func New(layers ...Layer) (Config, error) {
	c := Config{set: make(map[string]setting)}
	var faults []error
	for _, layer := range layers {
		for _, name := range slices.Sorted(maps.Keys(layer.Values)) {
			text := layer.Values[name]
			value, err := parse(name, text)
			if err != nil {
				faults = append(faults, from(layer.at(name), err))
				continue
			}
			c.set[name] = setting{text, value, layer.at(name)}
		}
	}
	if len(faults) > 0 {
		return Config{}, errors.Join(faults...)
	}
	return c, nil
}

// With returns a Config with one more layer.
func (c Config) With(layer Layer) (Config, error) {
	added, err := New(layer)
	if err != nil {
		return Config{}, err
	}
	set := maps.Clone(added.set)
	for name, s := range c.set {
		if _, overridden := set[name]; !overridden {
			set[name] = s
		}
	}
	return Config{set}, nil
}

// Without returns a Config without the options that begin with the prefixes.
func (c Config) Without(prefixes ...PrefixKey) Config {
	kept := Config{set: maps.Clone(c.set)}
	maps.DeleteFunc(kept.set, func(name string, _ setting) bool {
		return slices.ContainsFunc(prefixes, func(p PrefixKey) bool { return strings.HasPrefix(name, string(p)) })
	})
	return kept
}

// Set returns the options that a layer gave, as text. Another process makes its Config from them.
func (c Config) Set() map[string]string {
	values := make(map[string]string, len(c.set))
	for name, s := range c.set {
		values[name] = s.text
	}
	return values
}

// Source returns the source of an option's value: that of its layer, with the line if the layer has
// lines, or "default".
func (c Config) Source(key Key) string {
	if s, given := c.set[key.Name()]; given {
		return s.source
	}
	return "default"
}

// IsSet reports whether a layer gave the option.
func (c Config) IsSet(key Key) bool {
	_, given := c.set[key.Name()]
	return given
}

// Told returns an option with its value as it was set, or with its default, for messages:
// "client.timeout: 90 s".
func (c Config) Told(key Key) string {
	return key.Name() + ": " + c.text(key)
}

func (c Config) text(key Key) string {
	if s, given := c.set[key.Name()]; given {
		return strings.TrimSpace(s.text)
	}
	return mustFind(key).defaultIn(c)
}

// Under returns the options of a prefix, named without the prefix, such as the variables of
// ContainerMasterEnv.
func (c Config) Under(prefix PrefixKey) map[string]string {
	values := make(map[string]string)
	for name, s := range c.set {
		if rest, under := strings.CutPrefix(name, string(prefix)); under {
			values[rest] = s.text
		}
	}
	return values
}

// String returns the value of a text option.
func (c Config) String(key StringKey) string { return get[string](c, key) }

// Int returns the value of an integer option.
func (c Config) Int(key IntKey) int { return get[int](c, key) }

// Fraction returns the value of an option that is a number with a fraction.
func (c Config) Fraction(key FractionKey) float64 { return get[float64](c, key) }

// Bool returns the value of a boolean option.
func (c Config) Bool(key BoolKey) bool { return get[bool](c, key) }

// Duration returns the value of a duration option.
func (c Config) Duration(key DurationKey) time.Duration { return get[time.Duration](c, key) }

// Memory returns the value of an option that is a size; 0 if the option is not set and has no default.
func (c Config) Memory(key MemoryKey) Bytes { return get[Bytes](c, key) }

// Ports returns the value of an option that is a port, a range or a list of both.
func (c Config) Ports(key PortsKey) Ports { return get[Ports](c, key) }

func get[T any](c Config, key Key) T {
	if s, given := c.set[key.Name()]; given {
		return s.value.(T)
	}
	d := mustFind(key)
	text := d.defaultIn(c)
	if text == "" {
		var none T
		return none
	}
	return d.mustParse(text).(T)
}

// mustFind returns the row of a key of this package.
func mustFind(key Key) Definition {
	d, known := find(key.Name())
	if !known {
		panic(fmt.Sprintf("config: option %s is not in the table", key.Name()))
	}
	return d
}

// mustParse parses a value from the table itself.
func (d Definition) mustParse(text string) any {
	value, err := d.Key.parse(text, d)
	if err != nil {
		panic(fmt.Sprintf("config: %s in the table: %v", d.Key.Name(), err))
	}
	return value
}

// parse checks one option of a layer.
func parse(name, text string) (any, error) {
	if d, known := definitionOf(name); known {
		value, err := d.Key.parse(text, d)
		switch {
		case err != nil:
			return nil, fmt.Errorf("option %s: %w", name, err)
		case !d.inRange(value):
			return nil, d.outOfRange(text)
		}
		return value, nil
	}
	unknown := &Fault{What: "unknown option " + name, Remedy: "docs/OPTIONS.md lists all options"}
	if pem := Keystore(name); pem != "" {
		unknown.Remedy = pem
	} else if nearest := Nearest(name, Names()); nearest != "" {
		unknown.Remedy = "did you mean " + nearest + "?"
	} else if like := likest(name, Names()); like != "" {
		unknown.Remedy += ", the nearest is " + like
	}
	return nil, unknown
}

// from adds the source of its value to a fault.
func from(source string, err error) error {
	if fault, is := errors.AsType[*Fault](err); is {
		fault.Source = source
		return fault
	}
	return fmt.Errorf("%s: %w", source, err)
}

// Known returns the values whose options this build has. A client may be of a later release than
// the program that it starts, and the program ignores the options that it does not know.
func Known(values map[string]string) map[string]string {
	known := maps.Clone(values)
	maps.DeleteFunc(known, func(name, _ string) bool {
		_, is := definitionOf(name)
		return !is
	})
	return known
}

// definitionOf finds the option of a name. The name may begin with a PrefixKey.
func definitionOf(name string) (Definition, bool) {
	if d, known := find(name); known {
		return d, true
	}
	i := slices.IndexFunc(table, func(d Definition) bool {
		prefix, is := d.Key.(PrefixKey)
		return is && strings.HasPrefix(name, string(prefix)) && len(name) > len(prefix)
	})
	if i < 0 {
		return Definition{}, false
	}
	return table[i], true
}

func find(name string) (Definition, bool) {
	i, found := slices.BinarySearchFunc(sorted, name, func(d Definition, name string) int { return cmp.Compare(d.Key.Name(), name) })
	if !found {
		return Definition{}, false
	}
	if _, prefix := sorted[i].Key.(PrefixKey); prefix {
		return Definition{}, false // a prefix alone is not an option
	}
	return sorted[i], true
}

// sorted is the table by name.
var sorted = slices.SortedFunc(slices.Values(table), func(a, b Definition) int { //nolint:gochecknoglobals // a constant table
	return cmp.Compare(a.Key.Name(), b.Key.Name())
})

// Choices lists the allowed values of an option. nil means that the option allows any value of its
// kind, or does not exist.
func Choices(name string) []string {
	d, _ := find(name)
	return slices.Clone(d.Choices)
}

// Names lists all options, sorted. Those that end with ".*" are prefixes of names.
func Names() []string {
	all := make([]string, 0, len(sorted))
	for _, d := range sorted {
		all = append(all, d.Key.Name())
	}
	return all
}
