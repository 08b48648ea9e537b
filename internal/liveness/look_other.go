//go:build !linux

package liveness

import "net"

// lookAt returns nil: workers run on Linux. Elsewhere the roles notice losses by heartbeats.
func lookAt(*net.TCPConn) func() (sight, error) { return nil }
