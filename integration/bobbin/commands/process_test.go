package commands

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/bobbin-yarn/bobbin/integration/internal/wait"
)

// children lists the children of a process of this machine.
func children(t *testing.T, pid int) []int {
	t.Helper()
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var found []int
	for _, task := range tasks {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, task.Name()))
		if err != nil {
			continue // the thread has ended
		}
		for field := range strings.FieldsSeq(string(text)) {
			child, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, child)
		}
	}
	return found
}

// program waits until a process has started another program, and returns that process. It ignores short-lived children
// with which Go tests the kernel, and children that have not executed their program yet: both run the file of their
// parent.
func program(t *testing.T, pid int) int {
	t.Helper()
	var found int
	wait.Until(t, "the program runs", func() bool {
		own := executable(pid)
		for _, child := range children(t, pid) {
			if path := executable(child); path != "" && path != own {
				found = child
				return true
			}
		}
		return false
	})
	return found
}

// executable returns the file that a process runs. It is "" after the end of the process, also for a zombie.
func executable(pid int) string {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return ""
	}
	return path
}

// ended waits until a process of this machine has ended.
func ended(t *testing.T, pid int) {
	t.Helper()
	wait.Until(t, "a process has ended", func() bool { return executable(pid) == "" })
}
