//go:build unix

package inquiry

import (
	"io/fs"
	"syscall"
)

// fileID is the number of a file's inode.
func fileID(info fs.FileInfo) uint64 {
	if stat, is := info.Sys().(*syscall.Stat_t); is {
		return stat.Ino
	}
	return 0
}
