package config

import (
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"
)

// Bytes is a number of bytes of memory.
type Bytes int64

// Units of memory, Flink's: powers of 1024.
const (
	Byte     Bytes = 1
	Kibibyte       = 1024 * Byte
	Mebibyte       = 1024 * Kibibyte
	Gibibyte       = 1024 * Mebibyte
	tebibyte       = 1024 * Gibibyte
)

// Megabytes returns the size in YARN's MB (MiB), rounded up.
func (b Bytes) Megabytes() int {
	whole := int(b / Mebibyte)
	if b%Mebibyte > 0 {
		whole++
	}
	return whole
}

// String formats the size in the syntax of options, with the largest unit that divides it.
func (b Bytes) String() string {
	for _, unit := range []struct {
		size Bytes
		name string
	}{{tebibyte, "t"}, {Gibibyte, "g"}, {Mebibyte, "m"}, {Kibibyte, "k"}} {
		if b != 0 && b%unit.size == 0 {
			return strconv.FormatInt(int64(b/unit.size), 10) + unit.name
		}
	}
	return strconv.FormatInt(int64(b), 10) + "b"
}

// parseMemory parses a size as Flink's options write it: a number and b, k, m, g or t, in any case,
// optionally followed by "b" or "bytes", and with or without a space. A bare number counts unit:
// Byte in options, Mebibyte in -jm and -tm.
func parseMemory(text string, unit Bytes) (Bytes, error) {
	number, label := splitNumber(text)
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0, fmt.Errorf(`%q is not a size such as "512m" or "1g": %w`, text, ErrInvalid)
	}
	switch strings.ToLower(label) {
	case "":
	case "b", "bytes":
		unit = Byte
	case "k", "kb", "kibibytes":
		unit = Kibibyte
	case "m", "mb", "mebibytes":
		unit = Mebibyte
	case "g", "gb", "gibibytes":
		unit = Gibibyte
	case "t", "tb", "tebibytes":
		unit = tebibyte
	default:
		return 0, fmt.Errorf("%q has an unknown unit, want b, k, m, g or t: %w", text, ErrInvalid)
	}
	if n > math.MaxInt64/int64(unit) {
		return 0, fmt.Errorf("%q is too large: %w", text, ErrInvalid)
	}
	return Bytes(n) * unit, nil
}

// parseDuration parses a duration as Flink's options write it: a whole number and a unit from ns to
// d, with or without a space. A bare number counts unit.
func parseDuration(text string, unit time.Duration) (time.Duration, error) {
	number, label := splitNumber(text)
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return 0, fmt.Errorf(`%q is not a duration such as "10 s" or "100 ms": %w`, text, ErrInvalid)
	}
	switch strings.ToLower(label) {
	case "":
	case "ns", "nano", "nanos", "nanosecond", "nanoseconds":
		unit = time.Nanosecond
	case "µs", "micro", "micros", "microsecond", "microseconds":
		unit = time.Microsecond
	case "ms", "milli", "millis", "millisecond", "milliseconds":
		unit = time.Millisecond
	case "s", "sec", "secs", "second", "seconds":
		unit = time.Second
	case "min", "m", "minute", "minutes":
		unit = time.Minute
	case "h", "hour", "hours":
		unit = time.Hour
	case "d", "day", "days":
		unit = 24 * time.Hour
	default:
		return 0, fmt.Errorf("%q has an unknown unit, want ns, µs, ms, s, min, h or d: %w", text, ErrInvalid)
	}
	if n > math.MaxInt64/int64(unit) {
		return 0, fmt.Errorf("%q is too long: %w", text, ErrInvalid)
	}
	return time.Duration(n) * unit, nil
}

// FormatDuration formats a duration in the syntax of parseDuration.
func FormatDuration(d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}, {time.Millisecond, "ms"}, {time.Microsecond, "µs"}} {
		if d != 0 && d%unit.length == 0 {
			return strconv.FormatInt(int64(d/unit.length), 10) + " " + unit.name
		}
	}
	return strconv.FormatInt(int64(d), 10) + " ns"
}

// splitNumber splits the leading digits from the rest.
func splitNumber(text string) (number, rest string) {
	text = strings.TrimSpace(text)
	end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		return text, ""
	}
	return text[:end], strings.TrimSpace(text[end:])
}

// Ports are the ports on which a server may listen, in order of preference. 0 is any free port.
type Ports []PortRange

// PortRange is a range of ports, with both ends.
type PortRange struct{ First, Last int }

// All iterates over the ports.
func (p Ports) All() iter.Seq[int] {
	return func(yield func(int) bool) {
		for _, r := range p {
			for port := r.First; port <= r.Last; port++ {
				if !yield(port) {
					return
				}
			}
		}
	}
}

// parsePorts parses ports and ranges, separated by commas.
func parsePorts(text string) (Ports, error) {
	var ports Ports
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		from, err1 := strconv.ParseUint(strings.TrimSpace(first), 10, 16)
		to, err2 := strconv.ParseUint(strings.TrimSpace(last), 10, 16)
		if err1 != nil || err2 != nil || from > to {
			return nil, fmt.Errorf(`%q is not a port or a range such as "50100-50200": %w`, text, ErrInvalid)
		}
		ports = append(ports, PortRange{int(from), int(to)})
	}
	return ports, nil
}
