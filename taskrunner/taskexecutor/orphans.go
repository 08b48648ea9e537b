package taskexecutor

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"github.com/bobbin-yarn/bobbin/internal/ids"
)

// hostVariable marks the processes that a task host starts, and their children: they inherit it,
// and /proc shows the environment of a process while it lives.
const hostVariable = "BOBBIN_HOST"

// endOrphans kills the processes that an ended host has left behind, and returns their number. User
// code may run commands. Without endOrphans, the commands of a killed host would live as long as
// the container, and hold its memory while the next host works. It does not find a child that was
// started without the variable: the NodeManager kills that one with the container.
func endOrphans(host ids.HostID) int {
	mark := []byte(hostVariable + "=" + string(host))
	ended := make(map[int]bool)
	for found := true; found; { // until a pass finds no further process
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

// endMarked kills a process that has the mark in its environment. It opens the process before it
// reads the environment, so that the pid cannot belong to another process by then.
func endMarked(pid int, mark []byte) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = process.Release() }() // an error here has no consequence
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil { // it belongs to another user, or has ended
		return false
	}
	for entry := range bytes.SplitSeq(environment, []byte{0}) {
		if bytes.Equal(entry, mark) {
			return process.Kill() == nil
		}
	}
	return false
}
