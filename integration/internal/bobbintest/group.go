package bobbintest

import (
	"bytes"
	"errors"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// groupVariable marks what a command has started: the kernel gives the number of a group that
// has ended to another process, which may be anybody's.
const groupVariable = "BOBBIN_TEST_GROUP"

// end kills the command and what it has started, as far as they still run, and waits for
// the command's end.
func (c *Command) end(t testing.TB) {
	t.Helper()
	if c.Running() || isGroup(t, c.cmd.Process.Pid, c.mark) {
		_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) // it may have ended just now
	}
	<-c.ended
}

// isGroup tells whether the number of a group is still that of the processes with this mark.
func isGroup(t testing.TB, group int, mark string) bool {
	t.Helper()
	if errors.Is(syscall.Kill(-group, 0), syscall.ESRCH) {
		return false
	}
	for _, pid := range pids(t) {
		if its, err := syscall.Getpgid(pid); err != nil || its != group { // or it has ended meanwhile
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
