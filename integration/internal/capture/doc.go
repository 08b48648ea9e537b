// Package capture records what passes this machine's loopback interface, all of it,
// and then looks for what should not have: so a test can tell that nobody who
// listens on the wire learns a secret, whichever process sent it. Only root may do
// that, and only on Linux.
//
// Start records into a file, as secrets become known while they travel, or later;
// Stop reads the file. The package starts one goroutine for each Capture, which
// ends with Stop. It is for tests, and knows nothing of Hadoop or of bobbin.
package capture
