package ptytest

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Session is a terminal with a person who types and looks. Its methods may be called from any goroutine.
type Session struct {
	t      testing.TB
	person *os.File
	// Screen is the program's side.
	Screen *os.File

	ended chan struct{} // closed when all output has been read
	mu    sync.Mutex    // guards text
	more  *sync.Cond
	text  strings.Builder
	over  bool
}

// Start opens a terminal of this size. It is closed when the test ends.
func Start(t testing.TB, columns, lines int) *Session {
	t.Helper()
	person, program := Open(t, columns)
	s := &Session{t: t, person: person, Screen: program, ended: make(chan struct{})}
	s.more = sync.NewCond(&s.mu)
	s.Resize(columns, lines)
	go func() { // ends when the last holder of Screen closes it
		defer close(s.ended)
		buffer := make([]byte, 4096)
		for {
			n, err := person.Read(buffer)
			s.mu.Lock()
			s.text.Write(buffer[:n])
			s.over = err != nil
			s.more.Broadcast()
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	var late *time.Timer // shows what the terminal has got, before a test that waits in vain is killed
	if run, is := t.(interface{ Deadline() (time.Time, bool) }); is {
		if end, limited := run.Deadline(); limited {
			late = time.AfterFunc(time.Until(end)-lastWords, s.give)
		}
	}
	t.Cleanup(func() {
		if late != nil {
			late.Stop()
		}
		_ = program.Close()
		if !t.Failed() { // otherwise the program may still hold its side
			<-s.ended
			_ = person.Close()
		}
	})
	return s
}

// On has code of this process use a terminal of this size while the test looks. ended gets what the code returns.
func On[R any](t testing.TB, columns, lines int, use func(screen *os.File) R) (s *Session, ended <-chan R) {
	t.Helper()
	s = Start(t, columns, lines)
	result := make(chan R, 1)
	go func() { result <- use(s.Screen) }() // the test ends it
	return s, result
}

// lastWords is the time before the end of the run in which a test still fails by itself.
const lastWords = 5 * time.Second

// give ends all waits.
func (s *Session) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.more.Broadcast()
}

// Program starts a program on the terminal, in a session of its own, as a login shell would.
func (s *Session) Program(cmd *exec.Cmd) {
	s.t.Helper()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = s.Screen, s.Screen, s.Screen
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		s.t.Fatalf("start a program on a terminal: %v", err)
	}
}

// Type types keys.
func (s *Session) Type(keys string) {
	s.t.Helper()
	if _, err := s.person.WriteString(keys); err != nil {
		s.t.Fatalf("type %q: %v", keys, err)
	}
}

// Resize changes the size of the terminal, and tells the program.
func (s *Session) Resize(columns, lines int) {
	s.t.Helper()
	if err := unix.IoctlSetWinsize(int(s.person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(lines), Col: uint16(columns)}); err != nil {
		s.t.Fatalf("change the size of a terminal: %v", err)
	}
}

// Modes are the settings of the terminal, which a program changes to read single keys.
func (s *Session) Modes() unix.Termios {
	s.t.Helper()
	modes, err := unix.IoctlGetTermios(int(s.person.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatalf("read the settings of a terminal: %v", err)
	}
	return *modes
}

// Shown is everything that the terminal has got since the start, with control sequences.
func (s *Session) Shown() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Await waits until the terminal has got a text after its first from bytes, and returns the number of bytes up to the
// text's end. It waits as long as the test may take.
func (s *Session) Await(from int, text string) int {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if at := strings.Index(s.text.String()[from:], text); at >= 0 {
			return from + at + len(text)
		}
		if s.over {
			s.t.Fatalf("the terminal never got %q after %q", text, s.text.String()[from:])
		}
		s.more.Wait()
	}
}

// Stopped waits until a process has stopped, as after Ctrl-Z.
func Stopped(t testing.TB, process *os.Process) {
	t.Helper()
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(process.Pid, &status, unix.WUNTRACED, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || !status.Stopped():
			t.Fatalf("the process has not stopped: %v, %v", status, err)
		default:
			return
		}
	}
}
