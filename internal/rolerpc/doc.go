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
// Three losses are told apart. A process that ends closes its connection, which
// ends the streams at once. A machine that acknowledges nothing is lost after
// Config.Unreachable. A process that is stopped while its machine answers is not
// lost here, however long: the roles wait for its heartbeats, and say so.
//
// Each stream has two goroutines, which its Server, Conn or Local waits for when
// closed. The package knows no role: it must import nothing of ours but ids,
// msg, codec, actor, doorstep, liveness and pki.
package rolerpc
