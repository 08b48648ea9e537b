// Package yarnrpc is a client of Hadoop RPC, as YARN and HDFS speak it.
//
// Most programs begin with one of the typed clients, yarnclient, amrm, nmclient or
// hdfs, whose FromConf functions make Options of a Hadoop configuration. Here is what
// these have in common: options, retries, errors; and, for protocols that have no typed
// client,
//
//	Conn   one connection: calls multiplexed, pings, idle close
//	Proxy  a service at one or several addresses: dials when needed, retries, fails over
//
// An error says what a caller needs to know before it tries again: RemoteError is an
// exception that the server answered with, CallError a call without an answer, and
// whether it may have been executed. Judge has the table of what would help, which a
// Proxy goes by; how long it goes on is its Policy's, and Hadoop's options give one.
//
// Options.Logger and Options.Observe are the hooks for logs and for metrics of each try.
//
// A Conn has three goroutines: one reads, one writes, several calls at a time where there
// are several, and one pings, watches time limits and closes when idle. Close waits for
// them. Buffers are used again, so that a call allocates nothing but its decoded answer,
// whatever protects it. A Proxy has no goroutines but its connections': callers dial, retry
// and decode answers. The package imports of ours hadoopproto and what lies
// under yarnrpc, never the typed clients that are built on it.
package yarnrpc
