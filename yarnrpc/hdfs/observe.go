package hdfs

import "time"

// Transfer describes what DialerOptions.Observe sees of the transfer of a block.
type Transfer struct {
	Address string // the DataNode's
	Write   bool
	// Took is the time from the request until the first data of a block is here and right, or until all DataNodes of a new block are
	// ready for its data. It includes the connection and the login for a read, and the login for a write.
	Took time.Duration
	// Err is why a DataNode has not sent a block, or the rest of it; then another one is tried. Failed writes are not observed:
	// the library that writes knows them.
	Err error
}
