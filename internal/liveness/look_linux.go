package liveness

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// lookAt gives what Linux tells of a connection (TCP_INFO); nil where it tells
// nothing. A connection whose window is closed has something unsent and nothing
// unacknowledged. Its probes are counted until one is answered; those of keep-alive,
// which are counted alike, are sent only while nothing is unsent.
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
		seen := sight{
			unsent:         info.Notsent_bytes > 0,
			unacknowledged: info.Unacked > 0,
			silence:        time.Duration(min(info.Last_ack_recv, info.Last_data_recv)) * time.Millisecond,
		}
		if seen.unsent {
			seen.unanswered = int(info.Probes)
		}
		return seen, nil
	}
}
