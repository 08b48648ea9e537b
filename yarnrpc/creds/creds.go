// Package creds holds the secrets that Hadoop's servers issue: tokens, and the
// credentials files that carry them from a client to its containers. It asks no server
// for tokens. Package kerberos gets tickets from KDCs, and package sasl presents tokens
// and tickets to servers.
//
// A client puts the result of Credentials.Marshal into the Tokens of an application's
// launch context. YARN adds its own tokens and writes all of them into the file that
// HADOOP_TOKEN_FILE_LOCATION names. The containers read it with ReadFile, then Select or
// ByKind.
//
// Passwords never show: Token and Credentials print without them under every verb, and
// marshal to JSON without them. The package does not read HADOOP_TOKEN_FILE_LOCATION;
// the program passes file names. It starts no goroutine. Of this module it imports only
// hadoopproto and writable.
package creds
