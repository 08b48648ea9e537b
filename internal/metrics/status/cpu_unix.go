//go:build unix

package status

import (
	"syscall"
	"time"
)

// cpuTime returns the processor time of all threads of this process.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
