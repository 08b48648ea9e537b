package terminal

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// TestOthersTextDoesNothingButAppear would catch a name, a log or a server's error that clears the user's
// screen, overwrites text, sends input, or reads as another text.
func TestOthersTextDoesNothingButAppear(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, cell, lines string }{
		"an ordinary text":               {"größer 每晚\t✓", "größer 每晚\ufffd✓", "größer 每晚\t✓"},
		"a screen that is cleared":       {"a\x1b[2Jb", "a\ufffd[2Jb", "a\ufffd[2Jb"},
		"a line that is written over":    {"failed\rall is well", "failed\ufffdall is well", "failed\ufffdall is well"},
		"lines":                          {"a\nb", "a\ufffdb", "a\nb"},
		"lines of another system":        {"a\r\nb", "a\ufffd\ufffdb", "a\nb"},
		"a sequence of one character":    {"a\u009b2Jb", "a\ufffd2Jb", "a\ufffd2Jb"},
		"one of a byte":                  {"a\x9b2Jb", "a\ufffd2Jb", "a\ufffd2Jb"},
		"a text that is turned":          {"invoice\u202egnp.exe", "invoice\ufffdgnp.exe", "invoice\ufffdgnp.exe"},
		"one that is isolated":           {"\u2066a\u2069", "\ufffda\ufffd", "\ufffda\ufffd"},
		"one with marks":                 {"\u200ea\u061c", "\ufffda\ufffd", "\ufffda\ufffd"},
		"a line end of Unicode's":        {"a\u2028b\u2029c", "a\ufffdb\ufffdc", "a\ufffdb\ufffdc"},
		"a backspace":                    {"a\b\x7fb", "a\ufffd\ufffdb", "a\ufffd\ufffdb"},
		"a letter of several characters": {"👩\u200d👧", "👩\u200d👧", "👩\u200d👧"},
		"letters that are written so":    {"שלום", "שלום", "שלום"},
	} {
		if got := Visible(test.text); got != test.cell {
			t.Errorf("%s: got %q, want %q", name, got, test.cell)
		}
		if got := VisibleLines(test.text); got != test.lines {
			t.Errorf("%s, in lines: got %q, want %q", name, got, test.lines)
		}
	}
}

// TestAScreenTakesTextInPieces would catch a control sequence that passes in two pieces, a character that
// breaks at the border, and text that is lost there.
func TestAScreenTakesTextInPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{
			"a", "\n", "\r", "\r\n", "\x1b[2J", "每", "\u202e", "\u009b", "\x9b", "👩", "\xe6", "\t",
		})).Draw(t, "text"), "") + "." // nothing is unfinished
		var shown bytes.Buffer
		s := &screen{out: &shown}
		for rest := []byte(text); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			if got, err := s.Write(rest[:n]); got != n || err != nil {
				t.Fatalf("wrote %d of %d: %v", got, n, err)
			}
			rest = rest[n:]
		}
		if want := VisibleLines(text); shown.String() != want {
			t.Errorf("%q in pieces is shown as %q, want %q", text, shown.String(), want)
		}
		for _, r := range shown.String() {
			if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) || !utf8.ValidRune(r) {
				t.Errorf("%q is shown with %q", text, r)
			}
		}
	})
}

// TestOnlyAScreenChangesText would catch changed bytes in a file.
func TestOnlyAScreenChangesText(t *testing.T) {
	t.Parallel()
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var buffer bytes.Buffer
	if Screen(file) != file || Screen(&buffer) != &buffer || Raw(file) != file {
		t.Error("a file or a buffer is taken for a screen")
	}
}
