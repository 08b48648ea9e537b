// Package scale measures the master of a cluster with thousands of workers: its processor time, its memory and
// the bytes that it sends. The master is the ApplicationMaster's roles with their loops, streams, outboxes and
// encoded messages, in the virtual time of a synctest bubble. The workers are state machines that answer between
// two measurements, so the figures have no part of them but the memory of their messages. gRPC, TLS, YARN and HDFS
// are outside.
//
// The package has only tests. In `go test ./...` they run a small cluster; the benchmark's section "scale" runs them
// with the sizes of its page. No package imports it.
package scale
