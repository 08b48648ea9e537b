//go:build unix

package control

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ParentVariable is the environment variable that tells a program which runs on its own where
// it says how it ends: a descriptor. os.Exit in a task ends the whole of a local run without a
// word; the parent knows it by the word that is missing. The process takes the variable out of
// its environment, as it does with Variable.
const ParentVariable = "BOBBIN_PARENT"

// What a program says, each once.
const (
	saidBegun = "begun\n"
	saidEnded = "ended\n"
)

// Listener hears how a child ends. It is used by one goroutine.
type Listener struct {
	from *os.File
	// Child is the child's end, the first of exec.Cmd's ExtraFiles. The caller closes it once
	// the child has started, or could not be.
	Child *os.File
}

// Listen makes a Listener; Close ends it.
func Listen() (*Listener, error) {
	from, child, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe to child: %w", err)
	}
	return &Listener{from, child}, nil
}

// Environment is what the child's environment has besides.
func (l *Listener) Environment() string { return ParentVariable + "=" + strconv.Itoa(ChildFD) }

// Broken tells of a child that has ended whether it did so amid what it was doing: it has said
// that it begins, and not that it ends. One of another release says nothing. It does not wait:
// somebody else may hold the child's end.
func (l *Listener) Broken() bool {
	said := make([]byte, len(saidBegun)+len(saidEnded))
	n := 0
	if conn, err := l.from.SyscallConn(); err == nil {
		_ = conn.Read(func(fd uintptr) bool { // nothing was said where this fails
			n, _ = syscall.Read(int(fd), said)
			return true
		})
	}
	text := string(said[:max(0, n)])
	return strings.HasPrefix(text, saidBegun) && !strings.HasSuffix(text, saidEnded)
}

// Close ends the Listener.
func (l *Listener) Close() error { return l.from.Close() }

// Speaker says how this process ends. The zero one says nothing.
type Speaker struct{ fd int }

// Speak says that this process begins, to the parent that ParentVariable names, and takes the
// variable out of the environment. What names no pipe is left alone: it may be one of the
// runtime's own.
func Speak() Speaker {
	value, set := os.LookupEnv(ParentVariable)
	if !set || os.Unsetenv(ParentVariable) != nil {
		return Speaker{}
	}
	fd, err := strconv.Atoi(value)
	var stat syscall.Stat_t
	if err != nil || fd < ChildFD || syscall.Fstat(fd, &stat) != nil || stat.Mode&syscall.S_IFMT != syscall.S_IFIFO {
		return Speaker{}
	}
	syscall.CloseOnExec(fd)
	s := Speaker{fd}
	s.say(saidBegun)
	return s
}

// Ended says that this process ends by itself.
func (s Speaker) Ended() { s.say(saidEnded) }

func (s Speaker) say(what string) {
	if s.fd > 0 {
		_, _ = syscall.Write(s.fd, []byte(what)) // a parent that has gone needs to know nothing
	}
}
