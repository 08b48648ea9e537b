package bobbintest

import (
	"bytes"
	"errors"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// groupVariable marks the processes that a command has started. Their group id alone is not enough,
// because the kernel reuses the id of an ended group.
const groupVariable = "BOBBIN_TEST_GROUP"

// end kills the command and the processes that it has started, and waits for the command's end.
func (c *Command) end(t testing.TB) {
	t.Helper()
	if c.Running() || isGroup(t, c.cmd.Process.Pid, c.mark) {
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) // it may have ended just now
	}
	<-c.ended
}

// isGroup reports whether a group id still belongs to the processes with this mark.
func isGroup(t testing.TB, group int, mark string) bool {
	t.Helper()
	if errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) {
		return false
	}
	for _, pid := range pids(t) {
		if its, err := syscall.Getpgid(pid); err != nil || its != group { // or the process has ended meanwhile
			continue
		}
		environ, err := read(filepath.Join("/proc", strconv.Itoa(pid)), "environ")
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(environ, []byte(groupVariable+"="+mark)) {
			return true
		}
	}
	return false
}
