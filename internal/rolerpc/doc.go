// Package rolerpc carries messages between roles in different processes: gRPC
// over mutual TLS 1.3, one connection from each TaskExecutor to its
// ApplicationMaster, and on it one bidirectional stream for each pair of roles.
// The AM dials nobody.
//
// A Stream keeps the order of messages, never blocks who sends, delivers from
// one goroutine, and ends exactly once with a cause. Every frame carries the
// leader's fencing token; what was said under another grant of leadership is
// dropped before a role sees it. A Local is the same without sockets, for all
// roles in one process.
//
// Each stream has two goroutines, which its Server, Conn or Local waits for when
// closed. The package knows no role: it must import nothing of ours but ids,
// msg, codec and pki.
package rolerpc
