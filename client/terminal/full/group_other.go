//go:build !linux

package full

import (
	"os"

	"golang.org/x/sys/unix"
)

// orphaned tells whether nobody would notice that the process group of this process has stopped. It knows only the parent:
// below a script, which is of the same group, it takes the script's shell for granted.
func orphaned() bool {
	session, err := unix.Getsid(0)
	parent, failed := unix.Getsid(os.Getppid())
	return err != nil || failed != nil || parent != session
}
