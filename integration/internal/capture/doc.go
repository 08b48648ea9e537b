// Package capture records what passes this machine's loopback interface and belongs to
// one cluster, and then looks for what should not have passed: so a test can tell that
// nobody who listens on the wire learns a secret, whichever process sent it. Only root may
// do that, and only on Linux.
//
// The kernel drops what belongs to other clusters (Scope) before it comes to the recorder,
// which a busy machine would overrun. A recording from which it has dropped anything
// else is an error.
//
// Start records into a file, as secrets become known while they travel, or later;
// Stop reads the file. The package starts one goroutine for each Capture, which
// ends with Stop. It is for tests, and knows nothing of Hadoop or of bobbin.
package capture
