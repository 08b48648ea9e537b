//go:build !unix

package control

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// Pair returns errors.ErrUnsupported: it needs sockets that a child can inherit.
func Pair() (parent net.Conn, child *os.File, err error) {
	return nil, nil, fmt.Errorf("make control socket: %w", errors.ErrUnsupported)
}

// FromFD returns errors.ErrUnsupported: it needs sockets that a child can inherit.
func FromFD(fd int) (net.Conn, error) {
	return nil, fmt.Errorf("open control socket, descriptor %d: %w", fd, errors.ErrUnsupported)
}
