package config

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Setting is the value of an option as a part of the program holds it; Is makes one.
type Setting struct {
	key   Key
	value any
	text  string
}

// Is says that the option has a value.
func (k IntKey) Is(n int) Setting { return Setting{k, n, strconv.Itoa(n)} }

// Is says that the option has a value.
func (k FractionKey) Is(x float64) Setting { return Setting{k, x, fmt.Sprint(x)} }

// Is says that the option has a value.
func (k DurationKey) Is(d time.Duration) Setting { return Setting{k, d, FormatDuration(d)} }

// Check tells what the table has against settings that may not come from a Config: each by
// itself, and beside the others. It is a *Fault, or several joined. The roles check by it
// what they are told.
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
