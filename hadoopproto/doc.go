// Package hadoopproto is the root of Hadoop's protobuf messages as Bobbin has them:
//
//	commonpb  headers of Hadoop RPC, connection context, tokens   (hadoop.common)
//	yarnpb    the protocols of YARN and their records             (hadoop.yarn)
//	hdfspb    the few NameNode calls that Bobbin makes itself     (hadoop.hdfs)
//
// The .proto files under proto/ are Bobbin's own. They have Hadoop's message names,
// field numbers, types, labels and defaults, but packages and paths begin with
// "bobbin". Neither is on the wire. colinmarc/hdfs, which is linked into the same
// programs, registers Hadoop's own names, and a second registration panics when the
// program starts. integration/rpc/conformance compares every field with the
// descriptors in Hadoop's class files.
//
// A default is not the same as a value that was sent: Hadoop's Java code asks
// whether a field is present, so set fields explicitly.
//
// In Go, one protobuf package cannot hold both DecommissionTypeProto and
// NodeActionProto of Hadoop's yarn package, because both have a value NORMAL. Only
// the latter is here.
//
// The messages are generated. They import nothing of Bobbin.
package hadoopproto

//go:generate go run ./internal/generate
