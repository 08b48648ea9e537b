// Package hdfsfake is an HDFS inside a test: NameNodes and DataNodes that speak Hadoop's
// real bytes, so that an HDFS client runs against them as it runs against a cluster.
//
//	fake := hdfsfake.Start(hdfsfake.Config{NameNodes: 2})
//	defer fake.Stop()
//	files := dfs.New(dfs.Options{Conf: fake.Conf(), User: "alice", Dial: fake.Dial})
//
// It opens no socket: clients are given Fake.Dial, and everything, time included, fits
// into a bubble of testing/synctest.
//
// What it has:
//   - ClientProtocol as github.com/colinmarc/hdfs and yarnrpc/hdfs call it: files and
//     directories, blocks, listings in parts, leases, renames, delegation tokens. A
//     NameNode remembers calls that must not be done twice (its retry cache), and so does
//     the one that takes over.
//   - The data transfer protocol without a login: blocks are read and written in packets
//     with checksums, several over one connection. Each DataNode has every block.
//   - Directories whose files would be encrypted or erasure coded.
//   - Safe mode, and faults that a test orders: see fault.go.
//
// What it leaves out: permissions, quotas, snapshots, append and truncate, lease recovery,
// pipelines of more than one DataNode, Kerberos, and the login and encryption of data
// transfer, which the tests of yarnrpc/hdfs have. Calls that are left out answer
// RpcNoSuchMethodException.
//
// A Fake has the goroutines of its NameNodes' servers and one for each connection to a
// DataNode; Stop ends all and waits. Any number of goroutines may use a Fake. The package
// is for tests: nothing else is to import it.
package hdfsfake
