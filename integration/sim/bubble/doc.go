// Package bubble tests a whole cluster with the code of production around the roles, too: real goroutines,
// gRPC and the data plane with TLS, Hadoop's protocol to a YARN of package yarnfake, and a job of package
// dataflow. It is the second tier of the simulation. Package sim, the first one, runs the same roles as
// fibers, without these streams.
//
// All runs in a bubble of testing/synctest, in virtual time. Connections are in memory, and each piece of
// data takes a drawn time. A process is a group of goroutines with its own connections and files. When it
// is killed, its connections end and its calls have no effect from that moment on; then its goroutines end.
// A bubble fails if a goroutine is left, so each run also shows that all of them end.
//
// A seed draws the faults. Goroutines run in no fixed order: the same seed does not promise the same run.
// The package has only tests.
package bubble
