// Package runnable writes programs for tests to run.
package runnable

import (
	"os"
	"syscall"
)

// Write writes a program, like os.WriteFile. A process that is forked during a plain write would have the file open for
// writing until it executes its own program, and the kernel does not execute such a file (ETXTBSY).
func Write(path string, content []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, content, 0o755)
}
