package bobbin

import (
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/client/terminal"
	"github.com/bobbin-yarn/bobbin/internal/testing/ptytest"
)

// TestOthersTextDoesNothingToWhoRunsAProgram would catch a program whose error controls the terminal, because
// it contains a text from others, such as the name of a file.
func TestOthersTextDoesNothingToWhoRunsAProgram(t *testing.T) {
	t.Parallel()
	screen, shown := ptytest.Watch(t)
	program := byHand(t, "/mallory\x1b[2J\u009b2J\rall is well\u202e")
	program.Stderr = screen
	err := program.Run()
	text := shown()
	if err == nil || !strings.Contains(text, "mallory") || !strings.Contains(text, "all is well") {
		t.Errorf("the program ends with %v, and does not show the name: %q", err, text)
	}
	if terminal.VisibleLines(text) != text {
		t.Errorf("it shows %q", text)
	}
}
