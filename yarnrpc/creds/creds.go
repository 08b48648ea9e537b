// Package creds holds what proves who a process is: Hadoop's tokens, and the
// credentials files that carry them from a client to its containers.
//
// Passwords never show: Token and Credentials print and marshal to JSON without
// them, whatever the verb. The package reads files that it is told the names of;
// looking up HADOOP_TOKEN_FILE_LOCATION is for the entry points. It starts no
// goroutine and imports of ours hadoopproto and writable alone.
package creds
