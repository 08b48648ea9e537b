package screen

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bobbin-yarn/bobbin/client/terminal/canvas"
)

// shown is a screen after a text, which comes in pieces of some bytes.
func shown(t *testing.T, columns, lines, pieces int, text string) *Screen {
	t.Helper()
	s := New(columns, lines)
	for len(text) > 0 {
		n := min(pieces, len(text))
		if _, err := s.Write([]byte(text[:n])); err != nil {
			t.Fatal(err)
		}
		text = text[n:]
	}
	return s
}

// TestAScreenShowsWhatAPersonSees would catch a character, a sequence or an end of a line that is taken for another one,
// also if it comes in pieces.
func TestAScreenShowsWhatAPersonSees(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"lines", "one\r\ntwo\r\n", "one\ntwo\n"},
		{"a line over another one", "one of 4\rtwo\b\b.", "t.o of 4\n"},
		{"it scrolls", "1\r\n2\r\n3\r\n4\r\n5", "2\n3\n4\n5\n"},
		{"it wraps", "0123456789ab", "0123456789\nab\n"},
		{"a full line does not wrap alone", "0123456789\r\nab", "0123456789\nab\n"},
		{"a wide character wraps whole", "012345678每晚", "012345678\n每晚\n"},
		{"a mark joins a letter", "o\u0308k 每\u0308", "o\u0308k 每\u0308\n"},
		{"a tab", "a\tb", "a       b\n"},
		{"a picture below a line", "moving\x1b[J\r\nbelow\x1b[K\x1b[1A\r\x1b[6C!", "moving!\nbelow\n"},
		{"it is erased", "one\r\ntwo\x1b[1A\x1b[D\x1b[J", "on\n"},
		{"a line is erased", "one\r\ntwo\x1b[1;2H\x1b[K", "o\ntwo\n"},
		{"the cursor moves", "\x1b[2;3Hx\x1b[H1\x1b[By", "1\n yx\n"},
		{"the alternate screen", "one\x1b[?1049h\x1b[?25l\x1b[2J\x1b[1;1Hall\x1b[?25h\x1b[?1049l two", "one two\n"},
	} {
		for _, pieces := range []int{1, 100} {
			if diff := cmp.Diff(c.want, shown(t, 10, 4, pieces, c.text).String()); diff != "" {
				t.Errorf("%s, in pieces of %d bytes (-want +got):\n%s", c.name, pieces, diff)
			}
		}
	}
}

// TestAnUnknownSequenceIsAnError would catch a picture that is wrong after a sequence that nobody has read.
func TestAnUnknownSequenceIsAnError(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"\x1b[5n", "\x1bc", "\x1b[38m", "\x1b[?2004h", "\x1b[1J", "\x1b[x;1H", "\x1b[" + strings.Repeat("1;", 40)} {
		s := New(10, 4)
		if _, err := s.Write([]byte(text)); err == nil {
			t.Errorf("%q is no error", text)
		}
		if _, err := s.Write([]byte("more")); err == nil {
			t.Errorf("%q is forgotten", text)
		}
	}
}

// TestAScreenShowsPictures would catch a difference between what package canvas draws and what this package reads: texts,
// styles, and changes from one picture to the next.
func TestAScreenShowsPictures(t *testing.T) {
	t.Parallel()
	styles := []canvas.Style{canvas.Plain, canvas.Bold, canvas.Faint | canvas.Warm, canvas.Reverse | canvas.Accent, canvas.Bold | canvas.Bad, canvas.Good, canvas.Cool}
	rapid.Check(t, func(t *rapid.T) {
		width, height := rapid.IntRange(1, 12).Draw(t, "width"), rapid.IntRange(1, 4).Draw(t, "height")
		s := New(width, height)
		var before *canvas.Picture
		for range 2 {
			p := canvas.New(width, height)
			for range rapid.IntRange(0, 6).Draw(t, "texts") {
				p.Text(rapid.IntRange(0, width).Draw(t, "x"), rapid.IntRange(0, height-1).Draw(t, "y"), rapid.SampledFrom(styles).Draw(t, "style"),
					rapid.StringOf(rapid.SampledFrom([]rune("ab 每"))).Draw(t, "text"))
			}
			if _, err := s.Write([]byte(p.Changes(before, true))); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimRight(p.String(), "\n"), strings.TrimRight(s.String(), "\n")); diff != "" {
				t.Fatalf("text (-drawn +shown):\n%s", diff)
			}
			again := New(width, height) // with the styles of its cells
			if _, err := again.Write([]byte(p.Changes(nil, true))); err != nil {
				t.Fatal(err)
			}
			for y := range height {
				if diff := cmp.Diff(again.Row(y), s.Row(y)); diff != "" {
					t.Fatalf("line %d (-whole +changes):\n%s", y, diff)
				}
			}
			before = p
		}
	})
}
