package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNamesDoNothingOnAScreenOfUnknownWidth would catch a name that clears the screen of whoever
// looks at a list, where the terminal does not tell how wide it is.
func TestNamesDoNothingOnAScreenOfUnknownWidth(t *testing.T) {
	near, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	number, err := unix.IoctlGetInt(int(near.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(near.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	screen, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
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
	var shown strings.Builder
	buffer := make([]byte, 1)
	for !strings.HasSuffix(shown.String(), "end   .\r\n") {
		if _, err := io.ReadFull(near, buffer); err != nil {
			t.Fatalf("after %q: %v", shown.String(), err)
		}
		shown.Write(buffer)
	}
	if text := shown.String(); strings.Contains(text, "\x1b") || strings.Count(text, "\ufffd[2J") != 3 || strings.Contains(text, "\u202e") {
		t.Errorf("shown: %q", text)
	}
}
