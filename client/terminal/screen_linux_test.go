package terminal

import (
	"io"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/testing/ptytest"
)

// TestNamesDoNothingOnAScreenOfUnknownWidth would catch a name in a list that clears the screen, if the
// terminal does not tell its width.
func TestNamesDoNothingOnAScreenOfUnknownWidth(t *testing.T) {
	screen, shown := ptytest.Watch(t)
	if !Is(screen) || Columns(screen) != 0 {
		t.Fatalf("a terminal of %d columns: %t", Columns(screen), Is(screen))
	}
	if err := applications().Write(screen); err != nil {
		t.Fatal(err)
	}
	if out := Screen(screen); !Is(out) || Columns(out) != 0 || Raw(out) != screen || Screen(out) != out {
		t.Errorf("the screen is not known for a terminal behind %T", out)
	}
	if _, err := io.WriteString(Screen(screen), "log \x1b[2J\u202e"); err != nil {
		t.Fatal(err)
	}
	if err := (Facts{{"name", "a\x1b[2Jb"}, {"end", "."}}).Write(screen); err != nil {
		t.Fatal(err)
	}
	if text := shown(); strings.Contains(text, "\x1b") || strings.Count(text, "\ufffd[2J") != 3 || strings.Contains(text, "\u202e") {
		t.Errorf("shown: %q", text)
	}
}
