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
	"slices"
	"strconv"
	"strings"
)

// variable has the ids of a process' ancestors, separated by separator. Processes inherit it, and /proc
// shows the environment of a process while it lives.
const variable, separator = "BOBBIN_ANCESTOR", "/"

// Mark returns the environment of a process whose descendants End shall find: the given one, with the
// id behind the ids that it has from its own ancestors. The id must not be in use for another process
// on the node, and must have no slash.
func Mark(environment []string, id string) []string {
	marked := slices.Clone(environment)
	for i, entry := range marked {
		if earlier, is := strings.CutPrefix(entry, variable+"="); is {
			marked[i] = variable + "=" + earlier + separator + id
			return marked
		}
	}
	return append(marked, variable+"="+id)
}

// End kills the processes that an ended process has left behind, and returns their number. User code
// may run commands. Without End, the commands of a killed process would live as long as the container,
// and hold memory that nobody counts. End does not find a child that was started without the variable:
// the NodeManager kills that one with the container. End may be called from any goroutine.
func End(id string) int {
	ended := make(map[int]bool)
	for found := true; found; { // until a pass finds no further process
		found = false
		entries, err := os.ReadDir("/proc")
		if err != nil {
			break
		}
		for _, entry := range entries {
			pid, err := strconv.Atoi(entry.Name())
			if err == nil && !ended[pid] && endMarked(pid, id) {
				ended[pid], found = true, true
			}
		}
	}
	return len(ended)
}

// endMarked kills a process that has this ancestor. It opens the process before it
// reads the environment, so that the pid cannot belong to another process by then.
func endMarked(pid int, id string) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer func() { _ = process.Release() }() // nothing can be done about an error
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil { // it belongs to another user, or has ended
		return false
	}
	for entry := range bytes.SplitSeq(environment, []byte{0}) {
		if ancestors, is := bytes.CutPrefix(entry, []byte(variable+"=")); is {
			return slices.Contains(strings.Split(string(ancestors), separator), id) && process.Kill() == nil
		}
	}
	return false
}
