package terminal

import (
	"bytes"
	"strconv"
	"strings"
	"testing"
)

// TestOnlyWhatCanBeWrittenOverIsShown would catch a version that is higher than the screen, whose first lines would stay
// above each newer one, a count of rows that forgets lines that wrap, and a time of the look that has no room.
func TestOnlyWhatCanBeWrittenOverIsShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name           string
		text, foot     string
		columns, lines int
		want           string
		rows           int
	}{
		{"it fits", "a\nb\n", "", 10, 6, "a\nb\n", 2},
		{"it is too high", "a\nb\nc\nd\ne\n", "", 10, 6, "a\nb\nc\nd\n…\n", 5},
		{"a line wraps", "0123456789abc\nb\n", "", 10, 6, "0123456789abc\nb\n", 3},
		{"wrapped lines are too many", "0123456789abc\n0123456789abc\nb\n", "", 10, 6, "0123456789abc\n0123456789abc\n…\n", 5},
		{"with a foot", "a\nb\n", "z", 10, 6, "a\nb\nz\n", 3},
		{"it is too high for a foot", "a\nb\nc\nd\n", "z", 10, 6, "a\nb\nc\n…\nz\n", 5},
		{"a wide character", "每每每每每每\n", "", 10, 6, "每每每每每每\n", 2},
		{"the size is not known", strings.Repeat("a\n", 100), "", 0, 0, strings.Repeat("a\n", 100), 100},
	} {
		if got, rows := fitting(c.text, c.foot, c.columns, c.lines); got != c.want || rows != c.rows {
			t.Errorf("%s: %q on %d rows, want %q on %d", c.name, got, rows, c.want, c.rows)
		}
	}
}

// TestAFileGetsEachVersionOnce would catch a log that repeats the same status, and control sequences in it.
func TestAFileGetsEachVersionOnce(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	r := Refresh{Out: &out, Moves: true}
	for i, version := range []string{"a\n", "a\n", "b\n"} {
		if err := r.Show(version, "as of "+strconv.Itoa(i), false); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Show("b\n", "as of 4", true); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != "a\n\nb\n" {
		t.Errorf("the file has %q", got)
	}
}
