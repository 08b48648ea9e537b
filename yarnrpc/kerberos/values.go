package kerberos

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// parseBool reads MIT's words for true and false. ok is false for any other word. For such a
// word MIT's library uses the setting's default.
func parseBool(value string) (yes, ok bool) {
	switch strings.ToLower(value) {
	case "y", "yes", "true", "t", "1", "on":
		return true, true
	case "n", "no", "false", "f", "nil", "0", "off":
		return false, true
	default:
		return false, false
	}
}

// maxDuration is the longest time in MIT's library, some 68 years.
const maxDuration = math.MaxInt32 * time.Second

// parseDuration reads the forms of krb5_string_to_deltat: seconds ("36000"), units
// ("1d 2h", "10h30m"), clock time ("10:00", "10:30:15") and "1-02:03:04" with days.
// Units may be words ("7 days"), as Heimdal writes them.
func parseDuration(value string) (time.Duration, error) {
	bad := fmt.Errorf("%q is no duration: write it as 36000, 10h, 1d 2h 30m, 10:00 or 1-02:03:04", value)
	text := strings.TrimSpace(value)
	var total time.Duration
	add := func(digits string, unit time.Duration) bool {
		n, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 32)
		if err != nil || n > uint64(maxDuration/unit) || total+time.Duration(n)*unit > maxDuration {
			return false
		}
		total += time.Duration(n) * unit
		return true
	}

	if days, clock, ok := strings.Cut(text, "-"); ok {
		if strings.Count(clock, ":") != 2 || !add(days, 24*time.Hour) {
			return 0, bad
		}
		text = clock
	}
	if strings.Contains(text, ":") {
		parts := strings.Split(text, ":")
		units := [...]time.Duration{time.Hour, time.Minute, time.Second}
		if len(parts) > len(units) {
			return 0, bad
		}
		for i, part := range parts {
			if !add(part, units[i]) {
				return 0, bad
			}
		}
		return total, nil
	}
	if add(text, time.Second) {
		return total, nil
	}
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for text != "" {
		digits := text[:len(text)-len(strings.TrimLeft(text, "0123456789"))]
		text = strings.TrimLeft(text[len(digits):], " \t")
		word := text[:len(text)-len(strings.TrimLeft(text, letters))]
		unit, ok := durationUnit(strings.ToLower(word))
		if !ok || !add(digits, unit) {
			return 0, bad
		}
		text = strings.TrimLeft(text[len(word):], " \t,")
	}
	if total == 0 && !strings.ContainsAny(value, "0123456789") {
		return 0, bad
	}
	return total, nil
}

func durationUnit(word string) (time.Duration, bool) {
	if len(word) > 1 {
		word = strings.TrimSuffix(word, "s")
	}
	switch word {
	case "s", "sec", "second":
		return time.Second, true
	case "m", "min", "minute":
		return time.Minute, true
	case "h", "hr", "hour":
		return time.Hour, true
	case "d", "day":
		return 24 * time.Hour, true
	case "w", "week":
		return 7 * 24 * time.Hour, true
	default:
		return 0, false
	}
}
