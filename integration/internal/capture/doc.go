// Package capture records the traffic of one cluster on this machine's loopback interface, and
// searches it for secrets. So a test can show that nobody who listens on the wire learns a secret,
// whichever process sent it. Only root may do that, and only on Linux.
//
// The kernel drops the traffic of other clusters (Scope) before it reaches the recorder, which
// would otherwise be too slow on a busy machine. If the kernel drops anything else, the recording
// is an error.
//
// Start records into a file, because a secret may become known only while or after it travels. Stop
// reads the file. The package starts one goroutine for each Capture, which ends with Stop. It is
// for tests, and knows nothing of Hadoop or of bobbin.
package capture
