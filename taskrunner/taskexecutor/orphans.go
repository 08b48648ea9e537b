package taskexecutor

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// hostVariable marks what a task host starts, and what that starts: they inherit
// it, and a process's environment can be seen in /proc for as long as it lives.
const hostVariable = "BOBBIN_HOST"

// endOrphans kills what an ended host has started and left behind, and tells how
// many processes that were. User code may run commands; those of a host that was
// killed would live as long as the container, and hold its memory while the next
// host works. A child that was started without the variable is not found: the
// NodeManager ends it with the container.
func endOrphans(host ids.HostID) int {
	mark := []byte(hostVariable + "=" + string(host))
	ended := make(map[int]bool)
	for found := true; found; { // until no other was started meanwhile
		found = false
		entries, err := os.ReadDir("/proc")
		if err != nil {
			break
		}
		for _, entry := range entries {
			pid, err := strconv.Atoi(entry.Name())
			if err == nil && !ended[pid] && endMarked(pid, mark) {
				ended[pid], found = true, true
			}
		}
	}
	return len(ended)
}

// endMarked kills a process that has the mark in its environment. The process is
// held before it is looked at, so that it cannot be another's by then.
func endMarked(pid int, mark []byte) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = process.Release() }() // there is nothing to be done about it
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil { // another user's, or ended
		return false
	}
	for entry := range bytes.SplitSeq(environment, []byte{0}) {
		if bytes.Equal(entry, mark) {
			return process.Kill() == nil
		}
	}
	return false
}
