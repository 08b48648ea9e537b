package bobbintest

import (
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/internal/testing/ptytest"
)

// Keys that the kernel's terminal driver interprets.
const (
	CtrlC = "\x03" // interrupts the processes in the foreground
	CtrlD = "\x04" // at the beginning of a line: ends the input
)

// Terminal is a command in a terminal of its own, with the person who types. The command's Stdout
// is the terminal's output, with the echo of the typed keys.
type Terminal struct {
	*Command
	keyboard *os.File
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
	return &Terminal{c, ours}
}

// Types types keys.
func (s *Terminal) Types(t testing.TB, keys string) {
	t.Helper()
	if _, err := io.WriteString(s.keyboard, keys); err != nil {
		t.Fatal(err)
	}
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
