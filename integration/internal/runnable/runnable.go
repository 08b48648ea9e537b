// Package runnable writes programs that tests run.
package runnable

import (
	"os"
	"syscall"
)

// Write writes a program, as os.WriteFile does. A process that is forked meanwhile would have the file open for writing until
// it runs its own program, and the kernel runs none that somebody has so (ETXTBSY).
func Write(path string, content []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, content, 0o755)
}
