//go:build !unix

package yarnrpc

import (
	"net"
	"os"
	"time"
)

// socket stands for what other systems have; here there is none.
type socket struct{}

func newSocket(net.Conn) *socket { return nil }

func (*socket) tryRead([]byte, time.Duration) (int, error) { return 0, os.ErrDeadlineExceeded }
func (*socket) tryWrite([]byte) (int, error)               { return 0, nil }
