package full

import (
	"bytes"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// orphaned tells whether nobody would notice that the process group of this process has stopped, and have it continue: no
// ancestor outside of the group is in the session (POSIX, XBD 3.258). So it is with the command of `ssh -t HOST COMMAND`,
// whose parent is the daemon of SSH. The kernel ignores a Ctrl-Z there, but SIGSTOP stops the group for ever. Without /proc,
// or for an ancestor of another user that /proc hides, the group counts as orphaned: a screen drawn anew does no harm.
func orphaned() bool {
	group := unix.Getpgrp()
	session, err := unix.Getsid(0)
	if err != nil {
		return true
	}
	for parent := os.Getppid(); parent > 0; {
		of, next, err := familyOf(parent)
		if err != nil || of.session != session {
			return true
		}
		if of.group != group {
			return false
		}
		parent = next
	}
	return true
}

// family are the ids that tell who controls a process.
type family struct{ group, session int }

// familyOf reads the family of a process, and its parent (proc_pid_stat(5)).
func familyOf(pid int) (of family, parent int, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return of, 0, fmt.Errorf("look at process %d: %w", pid, err)
	}
	var state string
	after := stat[bytes.LastIndexByte(stat, ')')+1:] // the name before it may have any characters
	if _, err := fmt.Sscan(string(after), &state, &parent, &of.group, &of.session); err != nil {
		return of, 0, fmt.Errorf("look at process %d: %w", pid, err)
	}
	return of, parent, nil
}
