package config

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Setting is the value of an option in a component's Config; Is makes one.
type Setting struct {
	key   Key
	value any
	text  string
}

// Is returns a Setting of the option with this value.
func (k IntKey) Is(n int) Setting { return Setting{k, n, strconv.Itoa(n)} }

// Is returns a Setting of the option with this value.
func (k FractionKey) Is(x float64) Setting { return Setting{k, x, fmt.Sprint(x)} }

// Is returns a Setting of the option with this value.
func (k DurationKey) Is(d time.Duration) Setting { return Setting{k, d, FormatDuration(d)} }

// Is returns a Setting of the option with this value.
func (k MemoryKey) Is(b Bytes) Setting { return Setting{k, b, b.String()} }

// Check checks settings that may not come from a Config against the tables: each by itself, and
// beside the others. The error is a *Fault, or several joined. Roles check their Configs with it.
func Check(settings ...Setting) error {
	var faults []error
	values := make(map[Key]held, len(settings))
	for _, s := range settings {
		values[s.key] = held{s.value, s.text}
		if d := mustFind(s.key); !d.inRange(s.value) {
			faults = append(faults, d.outOfRange(s.text))
		}
	}
	faults = append(faults, contradictions(func(key Key) (held, bool) {
		h, is := values[key]
		return h, is
	})...)
	return errors.Join(faults...)
}
