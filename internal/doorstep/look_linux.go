package doorstep

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// look asks Linux. NetConn of a layer leads to the system's connection.
func look(conn net.Conn) sight {
	for {
		switch c := conn.(type) {
		case syscall.Conn:
			return lookAt(c)
		case interface{ NetConn() net.Conn }:
			conn = c.NetConn()
		default:
			return sight{}
		}
	}
}

func lookAt(conn syscall.Conn) (seen sight) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return sight{}
	}
	err = raw.Control(func(fd uintptr) {
		if bytes, err := unix.IoctlGetInt(int(fd), unix.SIOCINQ); err == nil {
			seen.unread = bytes > 0
		}
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil && info.Bytes_received > 0 {
			seen.heard = time.Now().Add(-time.Duration(info.Last_data_recv) * time.Millisecond)
		}
	})
	if err != nil { // the connection is closed
		return sight{}
	}
	return seen
}
