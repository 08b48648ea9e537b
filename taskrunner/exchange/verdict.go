package exchange

import (
	"errors"
	"io/fs"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/taskrunner/partition"
)

const (
	// faultPause is the time after which a Server reads again where a read has failed, 250 ms.
	faultPause = 250 * time.Millisecond
	// maxFaults is the number of reads in a row that may fail because the worker lacks files or memory: some 5 s.
	maxFaults = 20
)

// verdict says what follows when a Server has failed to read a file so many times in a row: it reads again, or it ends the channel
// with a frame of this kind. frameLost makes the producer run again, so it is only for files that are gone or damaged. Others share a
// worker's lack of file descriptors or memory, and the files are intact.
func verdict(err error, faults int) (last frameKind, again bool) {
	switch {
	case errors.Is(err, errNotServed), errors.Is(err, fs.ErrNotExist), errors.Is(err, partition.ErrCorrupt):
		return frameLost, false
	case errors.Is(err, errBusy): // the reader asks again
		return frameFail, false
	case errors.Is(err, syscall.EIO): // a disk may fail once
		return frameLost, faults < 2
	default:
		return frameFail, faults < maxFaults
	}
}
