package config

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDurationsAsFlinkWritesThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"10 s": 10 * time.Second, "100 ms": 100 * time.Millisecond, "100ms": 100 * time.Millisecond, "5 min": 5 * time.Minute,
		"1 h": time.Hour, "2 d": 48 * time.Hour, "250": 250 * time.Millisecond, " 3  seconds ": 3 * time.Second, "7 µs": 7 * time.Microsecond, "0 s": 0,
	} {
		if got, err := parseDuration(text, time.Millisecond); err != nil || got != want {
			t.Errorf("%q: got %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "s", "-1 s", "1.5 s", "10 fortnights", "9223372036854775807 d", "99999999999999999999"} {
		if _, err := parseDuration(text, time.Millisecond); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: got error %v, want ErrInvalid", text, err)
		}
	}
}

func TestSizesAsFlinkWritesThem(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text string
		unit Bytes
		want Bytes
	}{
		{"512m", Byte, 512 * Mebibyte},
		{"1g", Byte, Gibibyte},
		{"1 gb", Byte, Gibibyte},
		{"64 kb", Byte, 64 * Kibibyte},
		{"1T", Byte, tebibyte},
		{"1024", Byte, 1024},
		{"1024", Mebibyte, Gibibyte},
		{"10 bytes", Mebibyte, 10},
		{"0", Byte, 0},
	} {
		if got, err := parseMemory(test.text, test.unit); err != nil || got != test.want {
			t.Errorf("%q: got %d, %v, want %d", test.text, got, err, test.want)
		}
	}
	for _, text := range []string{"", "m", "-1m", "1.5g", "12 parsecs", "9223372036854775807k"} {
		if _, err := parseMemory(text, Byte); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: got error %v, want ErrInvalid", text, err)
		}
	}
	if got := (Mebibyte + 1).Megabytes(); got != 2 {
		t.Errorf("a byte over a megabyte is %d MB for YARN, want 2", got)
	}
	if got := Bytes(math.MaxInt64).Megabytes(); got != 1<<43 {
		t.Errorf("the largest size is %d MB for YARN, and passes every limit", got)
	}
}

// TestFormsReadBack would catch a value that changes on its way to another process.
func TestFormsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Min(0).Draw(t, "duration"))
		if got, err := parseDuration(FormatDuration(d), time.Millisecond); err != nil || got != d {
			t.Errorf("%s: got %s, %v", FormatDuration(d), got, err)
		}
		b := Bytes(rapid.Int64Min(0).Draw(t, "bytes"))
		if got, err := parseMemory(b.String(), tebibyte); err != nil || got != b {
			t.Errorf("%s: got %s, %v", b, got, err)
		}
	})
}

func TestPorts(t *testing.T) {
	t.Parallel()
	ports, err := parsePorts("8081, 9000-9002,0")
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Collect(ports.All()); !slices.Equal(got, []int{8081, 9000, 9001, 9002, 0}) {
		t.Errorf("got %v", got)
	}
	for _, text := range []string{"", "a", "2-1", "1-", "70000", "-1", "1,,2"} {
		if _, err := parsePorts(text); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: got error %v, want ErrInvalid", text, err)
		}
	}
}
