//go:build unix

package secretfile

import (
	"io/fs"
	"syscall"
)

// nonblock lets Open return although no process writes to a named pipe.
const nonblock = syscall.O_NONBLOCK

func ownerOf(info fs.FileInfo) (uid int, known bool) {
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return 0, false
	}
	return int(stat.Uid), true
}
