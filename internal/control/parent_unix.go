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

// Listener hears what a child is amid. It is used by one goroutine.
type Listener struct {
	// Child is the child's end, the first of exec.Cmd's ExtraFiles. The caller closes it once
	// the child has started, or could not be.
	Child *os.File

	from    *os.File
	hearing sync.WaitGroup
	last    Amid // said; hear's while that runs
}

// Listen makes a Listener; Close ends it.
func Listen() (*Listener, error) {
	from, child, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe to child: %w", err)
	}
	l := &Listener{Child: child, from: from}
	l.hearing.Go(l.hear) // ends with Amid, at the latest with Close
	return l, nil
}

// Environment is what the child's environment has besides.
func (l *Listener) Environment() string { return ParentVariable + "=" + strconv.Itoa(ChildFD) }

// hear takes words out of the pipe as they come: a full one would stop a program of many jobs.
func (l *Listener) hear() { l.read(func(fd uintptr) (done bool) { return !l.take(fd) }) }

// Amid tells of a child that has ended what it was amid then. It does not wait for others that
// hold the child's end. It is called once.
func (l *Listener) Amid() Amid {
	if l.from.SetReadDeadline(time.Now()) != nil { // a pipe takes one
		return 0
	}
	l.hearing.Wait()
	_ = l.from.SetReadDeadline(time.Time{})
	l.read(func(fd uintptr) (done bool) { l.take(fd); return true }) // what has come since
	return l.last
}

// read has the pipe read, which waits for more until that is done. Where it fails nothing is
// said any more.
func (l *Listener) read(take func(fd uintptr) (done bool)) {
	if conn, err := l.from.SyscallConn(); err == nil {
		_ = conn.Read(take)
	}
}

// take takes the words that are there, and tells whether others may come.
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

// Speaker says what this process is amid. A nil one says nothing. It may be used from any
// goroutine.
type Speaker struct {
	fd int

	mu    sync.Mutex // guards what follows, and the order of words
	jobs  int        // that run
	ended bool
}

// Speak says that this process runs, to the parent that ParentVariable names, and takes the
// variable out of the environment: nil where there is none. What names no pipe is left alone:
// it may be one of the runtime's own.
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

// JobBegins says that a job runs in this process, until JobEnds.
func (s *Speaker) JobBegins() { s.count(+1) }

// JobEnds says that it does not any more, if no other does.
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

// Ended says that this process ends by itself. That is its last word, also if the driver has
// left a job that still runs.
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
	_, _ = syscall.Write(s.fd, []byte{byte(what)}) // a parent that has gone needs to know nothing
}
