// Package records has the plain Go types that YARN's three protocols share:
// identifiers with Hadoop's exact text forms, resources, containers, launch
// contexts, reports.
//
// Identifiers are comparable values and serve as map keys. States are strings
// with Hadoop's names; the empty string is a state that the server did not tell,
// or one newer than this package. The package does no I/O, starts no goroutine
// and imports of ours creds alone: protobuf stops at yarnrpc/internal/pbconv.
package records
