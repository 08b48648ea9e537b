//go:build unix

package control

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// Listener receives the state (Amid) of a child process. Only one goroutine may use it.
type Listener struct {
	// Child is the child's end, for exec.Cmd's ExtraFiles, in which it comes first. The caller
	// closes it after it has started the child, or has failed to.
	Child *os.File

	from    *os.File
	hearing sync.WaitGroup
	last    Amid // the last report; belongs to hear while that runs
}

// Listen makes a Listener; Close ends it.
func Listen() (*Listener, error) {
	from, child, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe to child: %w", err)
	}
	l := &Listener{Child: child, from: from}
	l.hearing.Go(l.hear) // ends with Amid or Close
	return l, nil
}

// Environment returns the variable to add to the child's environment.
func (l *Listener) Environment() string { return ParentVariable + "=" + strconv.Itoa(ChildFD) }

// hear reads reports as they come. A full pipe would block a program with many jobs.
func (l *Listener) hear() { l.read(func(fd uintptr) (done bool) { return !l.take(fd) }) }

// Amid returns the state in which the child has ended. It does not wait for other processes that
// hold the child's end of the pipe. Call it once, after the child's end.
func (l *Listener) Amid() Amid {
	if l.from.SetReadDeadline(time.Now()) != nil { // a pipe supports deadlines
		return 0
	}
	l.hearing.Wait()
	_ = l.from.SetReadDeadline(time.Time{})
	l.read(func(fd uintptr) (done bool) { l.take(fd); return true }) // reports that came since
	return l.last
}

// read calls take whenever the pipe may have data, until take returns true. If reading fails, no
// more reports come.
func (l *Listener) read(take func(fd uintptr) (done bool)) {
	if conn, err := l.from.SyscallConn(); err == nil {
		_ = conn.Read(take)
	}
}

// take reads the available reports and reports whether more may come.
func (l *Listener) take(fd uintptr) (more bool) {
	var words [512]byte
	for {
		n, err := syscall.Read(int(fd), words[:])
		switch {
		case n > 0:
			l.last = Amid(words[n-1]) //nolint:gosec // n is at most their number
		case !errors.Is(err, syscall.EINTR):
			return errors.Is(err, syscall.EAGAIN)
		}
	}
}

// Close ends the Listener.
func (l *Listener) Close() error {
	err := l.from.Close()
	l.hearing.Wait()
	return err
}

// Speaker reports the state of this process to its parent. A nil Speaker reports nothing. Any
// goroutine may use it.
type Speaker struct {
	fd int

	mu    sync.Mutex // guards what follows, and the order of reports
	jobs  int        // running jobs
	ended bool
}

// Speak makes a Speaker to the parent that ParentVariable names, reports AmidDriver, and removes
// the variable from the environment. It returns nil if the variable is not set. It does not touch a
// descriptor that is not a pipe: that may belong to the Go runtime.
func Speak() *Speaker {
	value, set := os.LookupEnv(ParentVariable)
	if !set || os.Unsetenv(ParentVariable) != nil {
		return nil
	}
	fd, err := strconv.Atoi(value)
	var stat syscall.Stat_t
	if err != nil || fd < ChildFD || syscall.Fstat(fd, &stat) != nil || stat.Mode&syscall.S_IFMT != syscall.S_IFIFO {
		return nil
	}
	syscall.CloseOnExec(fd)
	s := &Speaker{fd: fd}
	s.say(AmidDriver)
	return s
}

// JobBegins reports that a job runs in this process, until JobEnds.
func (s *Speaker) JobBegins() { s.count(+1) }

// JobEnds reports that no job runs any more, unless another job runs.
func (s *Speaker) JobEnds() { s.count(-1) }

func (s *Speaker) count(change int) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.jobs > 0
	s.jobs += change
	switch after := s.jobs > 0; {
	case s.ended || after == before:
	case after:
		s.say(AmidJob)
	default:
		s.say(AmidDriver)
	}
}

// Ended reports that this process ends on purpose. No report follows, even if a job still runs.
func (s *Speaker) Ended() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.say(AmidNothing)
}

func (s *Speaker) say(what Amid) {
	_, _ = syscall.Write(s.fd, []byte{byte(what)}) // a parent that has ended needs no report
}
