//go:build !unix

package inquiry

import "io/fs"

// fileID is 0: files have no numbers here.
func fileID(fs.FileInfo) uint64 { return 0 }
