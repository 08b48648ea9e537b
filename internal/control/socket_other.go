//go:build !unix

package control

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// Pair needs sockets that a child can inherit: errors.ErrUnsupported here.
func Pair() (parent net.Conn, child *os.File, err error) {
	return nil, nil, fmt.Errorf("make control socket: %w", errors.ErrUnsupported)
}

// FromFD needs sockets that a child can inherit: errors.ErrUnsupported here.
func FromFD(fd int) (net.Conn, error) {
	return nil, fmt.Errorf("open control socket, descriptor %d: %w", fd, errors.ErrUnsupported)
}
