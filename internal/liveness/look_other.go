//go:build !linux

package liveness

import "net"

// lookAt gives nothing: workers run on Linux, and elsewhere the roles find what is
// lost.
func lookAt(*net.TCPConn) func() (sight, error) { return nil }
