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

// terminal is the shell in which a reader types the blocks of a page one after another.
type terminal struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	dir   string // has the shell's output, and a file for each completed block
	done  int    // number of blocks
	ended chan struct{}
}

// openTerminal starts a shell in the workplace. The shell ends at the first command that fails, also inside a pipe. Not
// every sh has an option for pipes, so it is bash in its sh mode.
func openTerminal(t testing.TB, w *workplace, env []string) *terminal {
	t.Helper()
	dir := t.TempDir()
	shown, err := os.Create(filepath.Join(dir, "shown")) // not a pipe, which a daemon started by a page would keep open
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
		_ = s.cmd.Wait() // ProcessState has the result
	}()
	t.Cleanup(func() {
		select {
		case <-s.ended: // the page has ended: the pid may now be another process's
		default:
			_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) // it may have ended just now
			<-s.ended
		}
	})
	return s
}

// run runs a block in the shell to its end.
func (s *terminal) run(t testing.TB, b block) error {
	t.Helper()
	s.done++
	mark := filepath.Join(s.dir, fmt.Sprintf("block-%d", s.done))
	// The shell reads its input line by line, so it waits for the next block after this one.
	if _, err := io.WriteString(s.stdin, b.text+": >'"+mark+"'\n"); err != nil && !errors.Is(err, syscall.EPIPE) {
		return err
	}
	var failed error
	wait.Satisfied(t, "the end of a block", func() error {
		ended := !s.runs() // must be read before the mark is checked
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

// close ends the shell after the last block.
func (s *terminal) close() error {
	err := s.stdin.Close()
	if errors.Is(err, os.ErrClosed) {
		err = nil // the shell has ended
	}
	<-s.ended // the shell has nothing more to do
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

// shown returns all output of the commands so far.
func (s *terminal) shown() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "shown"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// syntax checks the blocks with sh, the shell for which pages are written.
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
