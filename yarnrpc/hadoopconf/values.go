package hadoopconf

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ValueError says that a property has a value of the wrong form.
type ValueError struct {
	Name   string
	Value  string
	Source Source
	Want   string // the right form, such as "true or false"
}

// Error names the place, the property, its value and the right form.
func (e *ValueError) Error() string {
	return fmt.Sprintf("%s: property %s is %q, want %s", e.Source, e.Name, e.Value, e.Want)
}

// raw returns the value as written in a file, or else Hadoop's default.
func (c *Conf) raw(name string) (string, bool) {
	name = canonicalName(name)
	if p, ok := c.values[name]; ok {
		return p.value, true
	}
	return builtin(name)
}

// Lookup returns a value with variables substituted and surrounding space
// trimmed. ok is false if neither a file nor a default has the property. The
// error is a *ValueError if the value's variables refer to each other without
// end.
func (c *Conf) Lookup(name string) (value string, ok bool, err error) {
	raw, ok := c.raw(name)
	if !ok {
		return "", false, nil
	}
	value, err = c.expand(raw)
	if err != nil {
		return "", true, &ValueError{name, raw, c.SourceOf(name), "a value whose variables can be resolved: " + err.Error()}
	}
	return strings.TrimSpace(value), true, nil
}

// Get returns a value, or "" if there is none or its variables cannot be
// resolved. Lookup distinguishes these cases.
func (c *Conf) Get(name string) string {
	value, _, err := c.Lookup(name)
	if err != nil {
		return ""
	}
	return value
}

// Bool reads "true" or "false", in upper or lower case. A property that is not
// set, or empty, is false.
func (c *Conf) Bool(name string) (bool, error) {
	value, _, err := c.Lookup(name)
	if err != nil {
		return false, err
	}
	switch strings.ToLower(value) {
	case "true":
		return true, nil
	case "false", "":
		return false, nil
	default:
		return false, c.valueError(name, value, "true or false")
	}
}

// Int reads a decimal or 0x-hexadecimal number. A property that is not set, or
// empty, is 0.
func (c *Conf) Int(name string) (int64, error) {
	value, _, err := c.Lookup(name)
	if err != nil || value == "" {
		return 0, err
	}
	n, err := parseInt(value)
	if err != nil {
		return 0, c.valueError(name, value, "an integer")
	}
	return n, nil
}

func parseInt(text string) (int64, error) {
	digits, negative := strings.CutPrefix(text, "-")
	base := 10
	if hex, ok := strings.CutPrefix(strings.ToLower(digits), "0x"); ok {
		digits, base = hex, 16
	}
	if negative {
		digits = "-" + digits
	}
	return strconv.ParseInt(digits, base, 64)
}

// Duration reads a whole number with one of Hadoop's suffixes ns, us, ms, s, m,
// h, d. A number without a suffix counts in unit, which Hadoop defines for each
// property. A property that is not set, or empty, is 0.
func (c *Conf) Duration(name string, unit time.Duration) (time.Duration, error) {
	value, _, err := c.Lookup(name)
	if err != nil || value == "" {
		return 0, err
	}
	digits := value
	for _, s := range durationSuffixes() {
		if number, ok := strings.CutSuffix(strings.ToLower(value), s.suffix); ok {
			digits, unit = number, s.unit
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n > math.MaxInt64/int64(unit) || n < math.MinInt64/int64(unit) {
		return 0, c.valueError(name, value, "a duration such as 500ms, 30s or 5m")
	}
	return time.Duration(n) * unit, nil
}

type durationSuffix struct {
	suffix string
	unit   time.Duration
}

// durationSuffixes lists the longer suffixes first, because "ms" ends in "s".
func durationSuffixes() []durationSuffix {
	return []durationSuffix{
		{"ns", time.Nanosecond},
		{"us", time.Microsecond},
		{"ms", time.Millisecond},
		{"s", time.Second},
		{"m", time.Minute},
		{"h", time.Hour},
		{"d", 24 * time.Hour},
	}
}

// Size reads a number of bytes with an optional suffix k, m, g, t, p or e, in
// powers of 1024 (StringUtils.TraditionalBinaryPrefix). A property that is not
// set, or empty, is 0.
func (c *Conf) Size(name string) (int64, error) {
	value, _, err := c.Lookup(name)
	if err != nil || value == "" {
		return 0, err
	}
	digits, shift := value, 0
	if i := strings.IndexByte("kmgtpe", lower(value[len(value)-1])); i >= 0 {
		digits, shift = strings.TrimSpace(value[:len(value)-1]), 10*(i+1)
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n<<shift>>shift != n {
		return 0, c.valueError(name, value, "a size such as 64m or 134217728")
	}
	return n << shift, nil
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

// Strings reads a comma-separated list. It trims the parts and drops empty
// ones.
func (c *Conf) Strings(name string) ([]string, error) {
	value, _, err := c.Lookup(name)
	if err != nil {
		return nil, err
	}
	var parts []string
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts, nil
}

func (c *Conf) valueError(name, value, want string) error {
	return &ValueError{Name: name, Value: value, Source: c.SourceOf(name), Want: want}
}
