package pages

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// terminal is the shell in which a reader types the blocks of a page, one after another.
type terminal struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	dir   string // has what the shell shows, and a file for each block that has come to its end
	done  int    // blocks
	ended chan struct{}
}

// openTerminal starts a shell in the workplace. It ends at the first command that fails, also where another one reads what
// that has printed; for that sh has no option everywhere, and so it is bash, as sh.
func openTerminal(t testing.TB, w *workplace, env []string) *terminal {
	t.Helper()
	dir := t.TempDir()
	shown, err := os.Create(filepath.Join(dir, "shown")) // no pipe: a daemon that a page starts would keep it open
	if err != nil {
		t.Fatal(err)
	}
	defer shown.Close()
	s := &terminal{cmd: w.command(wait.Context(t), "bash", "--posix", "-eu", "-o", "pipefail"), dir: dir, ended: make(chan struct{})}
	s.cmd.Stdout, s.cmd.Stderr, s.cmd.Env = shown, shown, append(s.cmd.Env, env...)
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { // ends with the shell
		defer close(s.ended)
		_ = s.cmd.Wait() // how it ended is in ProcessState
	}()
	t.Cleanup(func() {
		select {
		case <-s.ended: // by a page that has come to its end: the pid may be another's by now
		default:
			_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) // it may have ended just now
			<-s.ended
		}
	})
	return s
}

// run has the shell do a block to its end.
func (s *terminal) run(t testing.TB, b block) error {
	t.Helper()
	s.done++
	mark := filepath.Join(s.dir, fmt.Sprintf("block-%d", s.done))
	// The shell reads its input line by line, so that it waits for the next block behind this one.
	if _, err := io.WriteString(s.stdin, b.text+": >'"+mark+"'\n"); err != nil && !errors.Is(err, syscall.EPIPE) {
		return err
	}
	var failed error
	wait.Satisfied(t, "the end of a block", func() error {
		ended := !s.runs() // before the look for the mark
		if _, err := os.Stat(mark); err == nil {
			return nil
		}
		if ended {
			failed = fmt.Errorf("%v in the block\n%s", s.cmd.ProcessState, b.text)
			return nil
		}
		return fmt.Errorf("the shell is at\n%s\nand has shown\n%s", b.text, s.shown())
	})
	return failed
}

// close ends the shell behind the last block.
func (s *terminal) close() error {
	err := s.stdin.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil // it has ended
	}
	<-s.ended // it has nothing to do any more
	if err == nil && !s.cmd.ProcessState.Success() {
		err = fmt.Errorf("the shell: %v", s.cmd.ProcessState)
	}
	return err
}

func (s *terminal) runs() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// shown is all that the commands have printed so far.
func (s *terminal) shown() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "shown"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// syntax has sh read the blocks, which is the shell that pages are for.
func syntax(t testing.TB, p page) error {
	var all strings.Builder
	for _, b := range p.blocks {
		all.WriteString(b.text)
	}
	check := exec.CommandContext(t.Context(), "sh", "-n")
	check.Stdin = strings.NewReader(all.String())
	_, err := output(check)
	return err
}
