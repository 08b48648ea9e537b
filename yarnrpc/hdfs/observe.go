package hdfs

import "time"

// Transfer describes what DialerOptions.Observe sees of the transfer of a block.
type Transfer struct {
	Address string // the DataNode's
	Write   bool
	// Took is the time from the request until the first data of a block is here and right, or until all DataNodes of a new block are
	// ready for its data. It includes the connection and the login for a read, and the login for a write.
	Took time.Duration
	// Err is why a DataNode has not sent a block, or the rest of it; then another one is tried. Or it is why the DataNodes are not
	// ready for a new block; then its file fails. Observe does not see a later failure of a write: the caller who writes sees it.
	Err error
	// Later says that the request was observed before, and that Err is why its block was not sent to the end, or its file not
	// written.
	Later bool
}
