// Package hadoopproto is the root of Hadoop's protobuf messages as Bobbin has them:
//
//	commonpb  headers of Hadoop RPC, connection context, tokens   (hadoop.common)
//	yarnpb    the protocols of YARN and what they carry           (hadoop.yarn)
//	hdfspb    the few NameNode calls we make ourselves            (hadoop.hdfs)
//
// The .proto files under proto/ are our own. They hold Hadoop's message names,
// field numbers, types, labels and defaults, but packages and paths begin with
// "bobbin": neither is on the wire, and colinmarc/hdfs, linked into the same
// programs, has registered Hadoop's own names already (a second registration
// panics when the program starts). integration/rpc/conformance compares every field
// with the descriptors in Hadoop's class files.
//
// A default is not the same as a value that was sent: Hadoop's Java code asks
// whether a field is present, so set fields explicitly.
//
// Of Hadoop's yarn package, DecommissionTypeProto and NodeActionProto cannot live
// in one protobuf package in Go, as both have a value NORMAL; only the latter is here.
//
// Nothing in these packages is written by hand; they import nothing of Bobbin.
package hadoopproto

//go:generate go run ./internal/generate
