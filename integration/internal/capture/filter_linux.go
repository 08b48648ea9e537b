package capture

import "golang.org/x/sys/unix"

// Ports is a range of ports, both ends included.
type Ports struct{ First, Last uint16 }

// Scope selects the recorded traffic. A TCP or UDP frame is recorded if one of its ports is in Own, or if neither is in
// Others, as between ports that the kernel chooses for clients. All other traffic is recorded too, because there is
// little of it.
type Scope struct {
	Own    Ports // the ports of the cluster to record
	Others Ports // the ports of all clusters, Own among them
}

// filter returns the scope as a program for the kernel (BPF, Documentation/networking/filter.rst). So dropped frames
// cost the recorder no time. The numbers before the lines are jump targets.
func (s Scope) filter() []unix.SockFilter {
	const (
		loadHalf, loadByte    = unix.BPF_LD | unix.BPF_H | unix.BPF_ABS, unix.BPF_LD | unix.BPF_B | unix.BPF_ABS
		loadPort              = unix.BPF_LD | unix.BPF_H | unix.BPF_IND
		loadHeaderLength      = unix.BPF_LDX | unix.BPF_B | unix.BPF_MSH
		loadX                 = unix.BPF_LDX | unix.BPF_W | unix.BPF_IMM
		jump, jumpEqual       = unix.BPF_JMP | unix.BPF_JA, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		jumpBits              = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		jumpAtLeast, jumpPast = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K
		end                   = unix.BPF_RET | unix.BPF_K

		ethernet           = 14
		accept, drop uint8 = 23, 24
	)
	// to turns line at into a jump: to line holds if the condition holds, otherwise to line not.
	to := func(at uint8, code uint16, k uint32, holds, not uint8) unix.SockFilter {
		return unix.SockFilter{Code: code, Jt: holds - at - 1, Jf: not - at - 1, K: k}
	}
	source, target := uint32(ethernet), uint32(ethernet+2) // after the IP header
	return []unix.SockFilter{
		0: {Code: loadHalf, K: 12},
		1: to(1, jumpEqual, 0x0800, 2, 7),
		// IPv4: only the first fragment of a packet has ports.
		2: {Code: loadHalf, K: ethernet + 6},
		3: to(3, jumpBits, 0x1fff, accept, 4),
		4: {Code: loadHeaderLength, K: ethernet},
		5: {Code: loadByte, K: ethernet + 9},
		6: {Code: jump, K: 10 - 6 - 1},
		// IPv6.
		7: to(7, jumpEqual, 0x86dd, 8, accept),
		8: {Code: loadX, K: 40},
		9: {Code: loadByte, K: ethernet + 6},
		// The protocol.
		10: to(10, jumpEqual, unix.IPPROTO_TCP, 12, 11),
		11: to(11, jumpEqual, unix.IPPROTO_UDP, 12, accept),
		// Is one port in Own?
		12: {Code: loadPort, K: target},
		13: to(13, jumpAtLeast, uint32(s.Own.First), 14, 15),
		14: to(14, jumpPast, uint32(s.Own.Last), 15, accept),
		15: {Code: loadPort, K: source},
		16: to(16, jumpAtLeast, uint32(s.Own.First), 17, 18),
		17: to(17, jumpPast, uint32(s.Own.Last), 18, accept),
		// Is one port in Others?
		18: to(18, jumpAtLeast, uint32(s.Others.First), 19, 20),
		19: to(19, jumpPast, uint32(s.Others.Last), 20, drop),
		20: {Code: loadPort, K: target},
		21: to(21, jumpAtLeast, uint32(s.Others.First), 22, accept),
		22: to(22, jumpPast, uint32(s.Others.Last), accept, drop),

		accept: {Code: end, K: maxFrame},
		drop:   {Code: end, K: 0},
	}
}
