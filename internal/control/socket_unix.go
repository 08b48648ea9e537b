//go:build unix

package control

import (
	"fmt"
	"net"
	"os"
	"syscall"
)

// Pair makes a connection to a child process before it is started. It returns the parent's end, and
// the child's end for exec.Cmd's ExtraFiles. The parent closes the child's end after it has started
// the child, or has failed to.
func Pair() (parent net.Conn, child *os.File, err error) {
	// The lock prevents that a fork in another goroutine inherits both ends before they are marked.
	// The parent would then not notice the child's death.
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

// FromFD takes over the descriptor that Parse returned, so that no child of this process inherits
// it. It does not touch a descriptor that is not a socket: if the process was not started with
// Pair, the descriptor may belong to the Go runtime.
func FromFD(fd int) (net.Conn, error) {
	if _, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TYPE); err != nil {
		return nil, fmt.Errorf("open control socket, descriptor %d named in %s: %w", fd, Variable, err)
	}
	return connOf(fd)
}

// connOf makes a connection from a socket and closes the socket.
func connOf(fd int) (net.Conn, error) {
	file := os.NewFile(uintptr(fd), "control socket")
	defer file.Close() // FileConn has made a close-on-exec duplicate
	conn, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("open control socket, descriptor %d: %w", fd, err)
	}
	return conn, nil
}
