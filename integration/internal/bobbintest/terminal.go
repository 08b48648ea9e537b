package bobbintest

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/screen"
	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
	"github.com/bobbin-yarn/bobbin/internal/testing/ptytest"
)

// Keys. The kernel's terminal driver interprets the first two.
const (
	CtrlC  = "\x03" // interrupts the processes in the foreground
	CtrlD  = "\x04" // at the beginning of a line: ends the input
	Escape = "\x1b"
)

// Terminal is a command in a terminal of its own, with the person who types. The command's Stdout
// is the terminal's output, with the echo of the typed keys.
type Terminal struct {
	*Command
	keyboard *os.File
	columns  int
}

// Terminal starts bobbin with these arguments in a terminal with this number of columns.
func (u *User) Terminal(t testing.TB, columns int, args ...string) *Terminal {
	t.Helper()
	return u.TerminalOf(t, columns, u.bobbin, args...)
}

// TerminalOf is Terminal for any program.
func (u *User) TerminalOf(t testing.TB, columns int, program string, args ...string) *Terminal {
	t.Helper()
	ours, theirs := ptytest.Open(t, columns)
	c := u.With("TERM=xterm").command(t, program, args...)
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = theirs, theirs, theirs
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // of descriptor 0
	err := c.cmd.Start()
	if closing := theirs.Close(); err != nil || closing != nil {
		t.Fatal(err, closing)
	}
	go func() { // ends with the last process that has the terminal
		defer close(c.ended)
		_, _ = io.Copy(&c.stdout, ours) // EIO after the last process has closed it
		_ = c.cmd.Wait()                // ProcessState has the result
	}()
	t.Cleanup(func() {
		c.end(t)
		_ = ours.Close()
	})
	return &Terminal{c, ours, columns}
}

// Types types keys.
func (s *Terminal) Types(t testing.TB, keys string) {
	t.Helper()
	if _, err := io.WriteString(s.keyboard, keys); err != nil {
		t.Fatal(err)
	}
}

// Shows waits until the screen, of 24 lines, shows these texts, and returns what it shows then. If the command ends without them,
// the test fails.
func (s *Terminal) Shows(t testing.TB, texts ...string) string {
	t.Helper()
	var shown string
	wait.Satisfied(t, fmt.Sprintf("the screen shows %q", texts), func() error {
		running := s.Running()
		seen := screen.New(s.columns, 24)
		if _, err := seen.Write([]byte(s.Seen().Stdout)); err != nil {
			return fmt.Errorf("%w: %w", wait.ErrGivenUp, err)
		}
		shown = seen.String()
		for _, text := range texts {
			switch {
			case strings.Contains(shown, text):
			case running:
				return fmt.Errorf("it has no %q, but\n%s", text, shown)
			default:
				return fmt.Errorf("%w: the command has ended, and the screen has no %q, but\n%s", wait.ErrGivenUp, text, shown)
			}
		}
		return nil
	})
	return shown
}

// Lines returns the lines on the screen. For an overwritten line it returns the last version.
func (s *Terminal) Lines() []string {
	var lines []string
	for line := range strings.SplitSeq(strings.ReplaceAll(s.Seen().Stdout, "\r\n", "\n"), "\n") {
		if i := strings.LastIndexByte(line, '\r'); i >= 0 {
			line = line[i+1:]
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}
