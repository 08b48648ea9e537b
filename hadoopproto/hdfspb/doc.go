// Package hdfspb holds the NameNode calls that Bobbin makes itself, without
// colinmarc/hdfs. It is generated from proto/bobbin/hadoop/hdfs.
package hdfspb
