// Package hdfsfake is an HDFS inside a test. Its NameNodes and DataNodes speak Hadoop's
// real protocols, so an HDFS client works with them as with a cluster.
//
//	fake := hdfsfake.Start(hdfsfake.Config{NameNodes: 2})
//	defer fake.Stop()
//	files := dfs.New(dfs.Options{Conf: fake.Conf(), User: "alice", Dial: fake.Dial})
//
// It opens no socket: clients use Fake.Dial. So the whole HDFS, with its time, works in a
// bubble of testing/synctest.
//
// It has:
//   - ClientProtocol as github.com/colinmarc/hdfs and yarnrpc/hdfs call it: files and
//     directories, blocks, listings in parts, leases, renames, delegation tokens. A
//     NameNode has a retry cache for calls that must not be executed twice, and the
//     NameNode that takes over has it too.
//   - The data transfer protocol without a login: blocks are read and written in packets
//     with checksums, several over one connection. Each DataNode has every block.
//   - Directories whose files would be encrypted or erasure coded.
//   - Safe mode, and faults on request of a test: see fault.go.
//
// It leaves out: permissions, quotas, snapshots, append and truncate, lease recovery,
// pipelines of more than one DataNode, Kerberos, and the login and encryption of data
// transfer, which the tests of yarnrpc/hdfs have. Calls that are left out answer
// RpcNoSuchMethodException.
//
// A Fake has the goroutines of its NameNodes' servers and one for each connection to a
// DataNode. Stop ends all and waits. Any number of goroutines may use a Fake. Only tests
// may import the package.
package hdfsfake
