// Package yarnrpc is a client of Hadoop RPC, the protocol of YARN and HDFS.
//
// Most programs begin with one of the typed clients: yarnclient, amrm, nmclient or hdfs.
// Their FromConf functions make Options from a Hadoop configuration. This package holds
// their common parts: options, retries and errors. For protocols without a typed client it
// has
//
//	Conn   one connection: calls multiplexed, pings, idle close
//	Proxy  a service at one or several addresses: dials when needed, retries, fails over
//
// An error tells the caller whether it may try again. RemoteError is an exception in the
// server's answer. CallError is a call without an answer; it says whether the server may
// have executed the call. Judge returns the action that may help, and a Proxy takes that
// action. Its Policy says how long it retries. ResourceManagerPolicy, NodeManagerPolicy and
// NameNodePolicy read a Policy from a Hadoop configuration.
//
// Options.Logger and Options.Observe are the hooks for logs and for metrics of each try.
//
// A Conn has three goroutines. One reads. One writes, and joins calls that wait into one
// write. One pings, watches time limits and closes the connection when it is idle. Close
// waits for them. Buffers are reused: a call allocates only its decoded answer, with every
// kind of protection. A Proxy starts no goroutines beside those of its connections: callers
// dial, retry and decode answers. Of this module, the package imports hadoopproto and
// packages below yarnrpc, but never the typed clients, which are built on it.
package yarnrpc
