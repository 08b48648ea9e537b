// Package rolerpc carries messages between roles in different processes, by gRPC
// over mutual TLS 1.3. Each TaskExecutor has one connection to its
// ApplicationMaster, with one bidirectional stream for each pair of roles, and
// another one to the next ApplicationMaster (Dialer). The AM opens no
// connections.
//
// A Stream keeps the order of messages, never blocks the sender, delivers from
// one goroutine, and ends exactly once with a cause. Every frame carries the
// leader's fencing token. A Stream drops messages with the token of another
// grant of leadership before a role sees them. A Local does the same without
// sockets, for roles in one process.
//
// There are three kinds of losses. A process that ends closes its connection,
// which ends the streams at once. A machine that acknowledges nothing is lost
// after Config.Unreachable. A process may be stopped while its machine still
// answers. This package never ends its streams: the roles notice the missing
// heartbeats.
//
// Each stream has a goroutine that reads. A message is sent and decoded by other goroutines, which end with it: most
// streams are silent most of the time, and a goroutine that only waits has a small stack. Close of its Server, Conn or
// Local waits for them. The package knows no role: of this module it imports only ids, msg, codec, actor, doorstep,
// liveness and pki.
package rolerpc
