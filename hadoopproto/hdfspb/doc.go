// Package hdfspb holds the NameNode calls that Bobbin makes beside colinmarc/hdfs.
// Generated from proto/bobbin/hadoop/hdfs.
package hdfspb
