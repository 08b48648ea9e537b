// Package creds keeps the secrets that Hadoop's servers have issued: tokens, and the
// credentials files that carry them from a client to its containers. It asks nobody for
// one: package kerberos gets tickets from KDCs, package sasl shows tokens and tickets to
// servers.
//
// An application that is submitted takes with it what Credentials.Marshal gives,
// as the Tokens of its launch context. Its containers find that, with what YARN
// has added, in the file that HADOOP_TOKEN_FILE_LOCATION names: ReadFile, then
// Select or ByKind.
//
// Passwords never show: Token and Credentials print and marshal to JSON without
// them, whatever the verb. The package reads files that it is told the names of;
// looking up HADOOP_TOKEN_FILE_LOCATION is for the entry points. It starts no
// goroutine and imports of ours hadoopproto and writable alone.
package creds
