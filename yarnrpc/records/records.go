// Package records holds the plain Go types that YARN's three protocols share:
// identifiers with Hadoop's exact text forms, resources, containers, launch
// contexts and reports.
//
// Identifiers are comparable and can be map keys. States are strings with
// Hadoop's names. The empty string is a state that the server did not send or
// that this package does not know. The package does no I/O and starts no
// goroutine. Of this module it imports only creds: yarnrpc/internal/pbconv
// converts from and to protobuf.
package records
