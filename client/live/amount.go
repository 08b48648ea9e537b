package live

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Percent is a share in words: 0.37 is "37 %".
func Percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// PerSecond is a rate of records: "14.1 k/s".
func PerSecond(rate float64) string { return Count(rate) + "/s" }

// Count is a number with three digits or fewer: "950", "14.1 k", "2 M".
func Count(n float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, " T"}, {1e9, " G"}, {1e6, " M"}, {1e3, " k"}} {
		if math.Abs(n) >= 0.9995*unit.size { // 999,600 has no room in thousands
			return digits(n/unit.size) + unit.name
		}
	}
	return fmt.Sprintf("%.0f", n)
}

// Bytes is an amount of data with three digits or fewer: "950 B", "14.1 MB". A KB has 1024 bytes.
func Bytes(n float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1 << 40, " TB"}, {1 << 30, " GB"}, {1 << 20, " MB"}, {1 << 10, " KB"}} {
		if math.Abs(n) >= 0.9995*unit.size {
			return digits(n/unit.size) + unit.name
		}
	}
	return fmt.Sprintf("%.0f B", n)
}

// digits has one digit after the point, unless it is 0 or there are three before it.
func digits(n float64) string {
	if n >= 99.95 {
		return fmt.Sprintf("%.0f", n)
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", n), ".0")
}

// Lasting is a duration in the two units that matter: "45s", "3m20s", "2h13m", "4d6h".
func Lasting(d time.Duration) string {
	const day = 24 * time.Hour
	switch d = max(0, d).Truncate(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	case d < day:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
}
