package canvas

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/client/terminal"
)

// TestTextStaysInThePicture would catch a panic for text at an edge, a wide character that is cut in two, and marks that
// take a cell of their own.
func TestTextStaysInThePicture(t *testing.T) {
	t.Parallel()
	p := New(6, 3)
	if after := p.Text(-1, 0, Plain, "abcdefgh"); after != 7 {
		t.Errorf("the text ends at %d", after)
	}
	p.Text(0, 1, Bold, "每晚gro\u0308")
	p.Text(5, 2, Plain, "每")
	p.Text(0, 3, Plain, "below")
	p.Right(6, 2, Plain, "12")
	if diff := cmp.Diff("bcdefg\n每晚gr\n    12\n", p.String()); diff != "" {
		t.Errorf("picture (-want +got):\n%s", diff)
	}
	p.Text(0, 2, Plain, "o\u0308")
	if got := p.String(); !strings.Contains(got, "o\u0308   12") {
		t.Errorf("a letter with its mark: %q", got)
	}
}

// TestOthersTextCannotControlTheTerminal would catch a name that clears the screen or changes colours.
func TestOthersTextCannotControlTheTerminal(t *testing.T) {
	t.Parallel()
	p := New(20, 1)
	p.Text(0, 0, Plain, "a\x1b[2J\u009b\u202e\r\nb")
	if got := p.Changes(nil, true); strings.Count(got, "\x1b") != 2 || strings.ContainsAny(got, "\u009b\u202e\r\n") {
		t.Errorf("the terminal gets %q", got)
	}
}

// TestOnlyChangedLinesAreSent would catch a terminal that flickers, and one that misses a change of colour.
func TestOnlyChangedLinesAreSent(t *testing.T) {
	t.Parallel()
	first := New(4, 3)
	first.Text(0, 0, Plain, "same")
	first.Text(0, 1, Plain, "old")
	second := New(4, 3)
	second.Text(0, 0, Plain, "same")
	second.Text(0, 1, Warm|Bold, "old")
	for _, c := range []struct {
		name    string
		shown   *Picture
		colours bool
		want    string
	}{
		{"nothing has changed", second, true, ""},
		{"a style", first, true, "\x1b[2;1H\x1b[0;1;33mold\x1b[0m\x1b[K"},
		{"a style without colours", first, false, "\x1b[2;1H\x1b[0;1mold\x1b[0m\x1b[K"},
		{"unknown", nil, false, "\x1b[1;1Hsame\x1b[2;1H\x1b[0;1mold\x1b[0m\x1b[K\x1b[3;1H\x1b[K"},
		{"another size", New(5, 3), false, "\x1b[1;1Hsame\x1b[2;1H\x1b[0;1mold\x1b[0m\x1b[K\x1b[3;1H\x1b[K"},
	} {
		if got := second.Changes(c.shown, c.colours); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestAGreyPictureHasNoColours would catch colours of a state that is no longer true. A choice can still be seen.
func TestAGreyPictureHasNoColours(t *testing.T) {
	t.Parallel()
	p := New(2, 1)
	p.Text(0, 0, Good|Bold, "a")
	p.Text(1, 0, Good|Reverse, "b")
	p.Grey()
	if got, want := p.Changes(nil, true), "\x1b[1;1H\x1b[0;2ma\x1b[0;2;7mb\x1b[0m"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestAHalfOfAWideCharacterIsABlank would catch a line that becomes longer where a text covers half of a character.
func TestAHalfOfAWideCharacterIsABlank(t *testing.T) {
	t.Parallel()
	over := New(1, 1)
	over.Text(0, 0, Plain, "a")
	cut := New(2, 1)
	cut.Text(0, 0, Plain, "每")
	for _, c := range []struct {
		name string
		draw func(*Picture)
		want string
	}{
		{"its second half", func(p *Picture) { p.Text(2, 0, Plain, "a") }, "x ay\n"},
		{"its first half", func(p *Picture) { p.Text(1, 0, Plain, "a") }, "xa y\n"},
		{"both, by two", func(p *Picture) { p.Text(0, 0, Plain, "每每") }, "每每\n"},
		{"its second half, by a picture", func(p *Picture) { p.Put(2, 0, over) }, "x ay\n"},
		{"nothing: a mark joins it", func(p *Picture) { p.Text(3, 0, Plain, "\u0308") }, "x每\u0308y\n"},
		{"half of it lies outside", func(p *Picture) { p.Put(3, 0, cut) }, "x每y\n"},
	} {
		p := New(4, 1)
		p.Text(0, 0, Plain, "x每y")
		c.draw(p)
		if got := p.String(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

// TestEachLineIsAsWideAsThePicture would catch a line that wraps at any text.
func TestEachLineIsAsWideAsThePicture(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := New(rapid.IntRange(0, 12).Draw(t, "width"), rapid.IntRange(0, 4).Draw(t, "height"))
		for range rapid.IntRange(0, 6).Draw(t, "texts") {
			p.Text(rapid.IntRange(-3, 13).Draw(t, "x"), rapid.IntRange(-1, 5).Draw(t, "y"), Plain,
				rapid.StringOf(rapid.SampledFrom([]rune("ab每\u0308\x1b👩"))).Draw(t, "text"))
		}
		lines := 0
		for line := range strings.Lines(p.String()) {
			lines++
			if cells := terminal.Cells(strings.TrimSuffix(line, "\n")); cells > p.Width {
				t.Errorf("%q takes %d of %d cells", line, cells, p.Width)
			}
		}
		if lines != p.Height {
			t.Errorf("%d lines of %d", lines, p.Height)
		}
	})
}
