package liveness

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// lookAt gives what Linux tells of a connection (TCP_INFO); nil where it tells
// nothing. A connection whose window is closed has something unsent and nothing
// unacknowledged, whether the probes of its window are answered or not.
func lookAt(conn *net.TCPConn) func() (sight, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil
	}
	return func() (sight, error) {
		var info *unix.TCPInfo
		var asking error
		err := raw.Control(func(fd uintptr) {
			info, asking = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		})
		if err != nil {
			return sight{}, err // it is closed
		}
		if asking != nil {
			return sight{}, asking
		}
		return sight{
			unsent:         info.Notsent_bytes > 0,
			unacknowledged: info.Unacked > 0,
			silence:        time.Duration(min(info.Last_ack_recv, info.Last_data_recv)) * time.Millisecond,
		}, nil
	}
}
