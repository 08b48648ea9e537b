// Package orphans ends the processes that a user's program has started and left behind: those of a
// task host in a worker's container, and those of a driver in the ApplicationMaster's.
//
// It finds them by a variable of their environment, which they inherit, and reads it from /proc.
// Without /proc it finds none. The package starts no goroutines, and imports nothing of ours.
package orphans

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// variable marks what a process starts, and what that starts: they inherit it, and a process's
// environment can be seen in /proc for as long as it lives.
const variable = "BOBBIN_ANCESTOR"

// Mark is the entry, "key=value", of the environment of a process whose descendants End shall
// find. The id must not be in use for another process on the node.
func Mark(id string) string { return variable + "=" + id }

// End kills what an ended process has started and left behind, and tells how many processes that
// were. User code may run commands; those of a process that was killed would live as long as the
// container, and hold memory that nobody counts. A child that was started without the variable is
// not found: the NodeManager ends it with the container. End may be called from any goroutine.
func End(id string) int {
	mark := []byte(Mark(id))
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
