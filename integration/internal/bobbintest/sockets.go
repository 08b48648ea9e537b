package bobbintest

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Listens returns the addresses on which the process accepts TCP connections. A socket for all addresses counts as
// 127.0.0.1. The list is empty after the process has ended.
func (p Process) Listens(t testing.TB) []netip.AddrPort {
	t.Helper()
	const listening = "0A"
	return p.sockets(t, listening, 1)
}

// Peers returns the remote addresses of the process's TCP connections.
func (p Process) Peers(t testing.TB) []netip.AddrPort {
	t.Helper()
	const established = "01"
	return p.sockets(t, established, 2)
}

// sockets returns one address for each of the process's sockets in a state: the local (1) or remote (2) one
// (proc(5)).
func (p Process) sockets(t testing.TB, wanted string, address int) []netip.AddrPort {
	t.Helper()
	proc := filepath.Join("/proc", strconv.Itoa(p.PID))
	links, err := filepath.Glob(filepath.Join(proc, "fd/*"))
	if err != nil {
		t.Fatal(err)
	}
	own := make(map[string]bool)
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil { // or it was closed meanwhile
			own[target] = true
		}
	}
	var found []netip.AddrPort
	for _, table := range []string{"net/tcp", "net/tcp6"} {
		text, err := read(proc, table)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			const state, inode = 3, 9
			fields := strings.Fields(line)
			if len(fields) <= inode || fields[state] != wanted || !own["socket:["+fields[inode]+"]"] {
				continue
			}
			at, err := socketAddress(fields[address])
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, at)
		}
	}
	return found
}

// socketAddress reads ADDRESS:PORT from the kernel's tables, in hexadecimal. An IPv4 address has this machine's byte
// order; a longer one stands for all addresses.
func socketAddress(text string) (netip.AddrPort, error) {
	address, port, _ := strings.Cut(text, ":")
	number, err := strconv.ParseUint(port, 16, 16)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("parse socket %s: %w", text, err)
	}
	ip := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if raw, err := strconv.ParseUint(address, 16, 32); err == nil && raw != 0 {
		ip = netip.AddrFrom4([4]byte{byte(raw), byte(raw >> 8), byte(raw >> 16), byte(raw >> 24)})
	}
	return netip.AddrPortFrom(ip, uint16(number)), nil
}
