//go:build unix

package control

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// Pair makes a connection to a child that is yet to be started: the parent's end,
// and the child's for exec.Cmd's ExtraFiles, which the parent closes once the
// child has started or could not be.
func Pair() (parent net.Conn, child *os.File, err error) {
	// The lock keeps a fork in another goroutine from inheriting both ends
	// before they are marked: the child's death would not be seen then.
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, fmt.Errorf("make control socket: %w", err)
	}
	child = os.NewFile(uintptr(fds[1]), "control socket")
	parent, err = connOf(fds[0])
	if err != nil {
		child.Close()
		return nil, nil, err
	}
	return parent, child, nil
}

// FromFD takes over the descriptor that Parse found, so that no child of this
// process inherits it. A descriptor that is no socket is left alone: it may be
// one of the runtime's own in a process that was not started with Pair.
func FromFD(fd int) (net.Conn, error) {
	if _, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TYPE); err != nil {
		return nil, fmt.Errorf("open control socket, descriptor %d named in %s: %w", fd, Variable, err)
	}
	return connOf(fd)
}

// connOf makes a connection of a socket and closes the socket.
func connOf(fd int) (net.Conn, error) {
	file := os.NewFile(uintptr(fd), "control socket")
	defer file.Close() // FileConn has a close-on-exec duplicate
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("open control socket, descriptor %d: %w", fd, err)
	}
	return conn, nil
}
