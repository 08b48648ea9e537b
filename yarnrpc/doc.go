// Package yarnrpc is a client of Hadoop RPC, as YARN and HDFS speak it.
//
//	Conn      one connection: calls multiplexed, pings, idle close
//	Proxy     a service at one or several addresses: dials when needed, retries, fails over
//	Open      a connection that is ready for calls, for clients that make them by themselves
//	Handshake the same over a net.Conn that there is already
//
// An error says what a caller needs to know before it tries again: RemoteError is an
// exception that the server answered with, CallError a call without an answer, and
// whether it may have been executed. Judge has the table of what would help, which a
// Proxy goes by; how long it goes on is its Policy's, and Hadoop's options give one.
//
// A Conn has two goroutines, one that reads and one that writes, pings and closes
// when idle; Close waits for them. A Proxy has none but its connections': callers'
// goroutines dial, retry and decode answers. The package imports of ours hadoopproto and
// what lies under yarnrpc, never the typed clients that are built on it.
package yarnrpc
