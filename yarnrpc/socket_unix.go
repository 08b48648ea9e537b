//go:build unix

package yarnrpc

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// socket tries to read from and to write to the socket under a connection without the
// runtime's poller: it saves those who are about to have their answer the two thread
// switches of parking and being woken. A method is for one goroutine at a time.
type socket struct {
	raw syscall.RawConn

	// What a method hands to its attempt and gets back; the attempts are made once, as a
	// new function for each would be allocated.
	in, out       socketTry
	read, written func(fd uintptr) bool
}

type socketTry struct {
	bytes    []byte
	patience time.Duration
	n        int
	err      error
}

// newSocket gives the socket under a connection; nil if there is none.
func newSocket(conn net.Conn) *socket {
	tcp, is := conn.(*net.TCPConn) // another's methods may do more than the socket's
	if !is {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	s := &socket{raw: raw}
	s.read, s.written = s.in.read, s.out.write
	return s
}

// tryRead reads what is there, or comes within patience, which is rounded up to
// milliseconds. That nothing comes is os.ErrDeadlineExceeded.
func (s *socket) tryRead(b []byte, patience time.Duration) (int, error) {
	s.in = socketTry{bytes: b, patience: patience} // a closed socket is not even tried
	err := s.raw.Read(s.read)
	s.in.bytes = nil
	if err == nil {
		err = s.in.err
	}
	return s.in.n, err
}

// tryWrite writes as much as the kernel takes at once, which may be nothing.
func (s *socket) tryWrite(b []byte) (int, error) {
	s.out = socketTry{bytes: b}
	err := s.raw.Write(s.written)
	s.out.bytes = nil
	if err == nil {
		err = s.out.err
	}
	return s.out.n, err
}

func (t *socketTry) read(fd uintptr) bool {
	t.n, t.err = ignoringEINTR(syscall.Read, fd, t.bytes)
	if errors.Is(t.err, syscall.EAGAIN) {
		ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		wait := (t.patience + time.Millisecond - 1).Milliseconds()
		if n, err := unix.Poll(ready, int(wait)); n <= 0 || err != nil {
			t.n, t.err = 0, os.ErrDeadlineExceeded // a signal may have come, which is as good
			return true
		}
		t.n, t.err = ignoringEINTR(syscall.Read, fd, t.bytes)
	}
	switch {
	case errors.Is(t.err, syscall.EAGAIN):
		t.n, t.err = 0, os.ErrDeadlineExceeded
	case t.err != nil:
		t.n, t.err = 0, os.NewSyscallError("read", t.err)
	case t.n == 0:
		t.err = io.EOF
	}
	return true
}

func (t *socketTry) write(fd uintptr) bool {
	t.n, t.err = ignoringEINTR(syscall.Write, fd, t.bytes)
	switch {
	case errors.Is(t.err, syscall.EAGAIN):
		t.n, t.err = 0, nil
	case t.err != nil:
		t.n, t.err = 0, os.NewSyscallError("write", t.err)
	}
	return true
}

func ignoringEINTR(call func(int, []byte) (int, error), fd uintptr, b []byte) (n int, err error) {
	for {
		if n, err = call(int(fd), b); !errors.Is(err, syscall.EINTR) {
			return n, err
		}
	}
}
