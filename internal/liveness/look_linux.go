package liveness

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// lookAt returns a function that reads Linux's TCP_INFO of a connection; nil if that is impossible.
// A connection with a closed window has unsent data and no unacknowledged data. Its probes are
// counted until one is answered. The count also includes keep-alive probes, but the kernel sends
// those only while no data is unsent.
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
			return sight{}, err // the connection is closed
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
