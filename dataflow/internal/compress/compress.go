// Package compress reads and writes the formats of compressed text files: gzip (RFC 1952), zstd
// (RFC 8878) and, only to read, bzip2. The end of a file's name tells its format.
//
// A file may have several gzip members, zstd frames or bzip2 streams, one after the other. Each
// format has checksums, and the package checks them all.
//
// The package starts no goroutines, and imports nothing of Bobbin.
package compress

import (
	"path"
	"slices"
	"strings"
)

// Format is the format of a file.
type Format string

// The formats.
const (
	None  Format = "" // not compressed
	Gzip  Format = "gzip"
	Zstd  Format = "zstd"
	Bzip2 Format = "bzip2"
)

// Of returns the format that the end of a file's name tells, in upper or lower case. It is None
// for any end that the package does not know.
func Of(name string) Format {
	switch extension(name) {
	case ".gz", ".gzip":
		return Gzip
	case ".zst", ".zstd":
		return Zstd
	case ".bz2":
		return Bzip2
	default:
		return None
	}
}

// Extension returns the end of the name of a file of this format, such as ".gz", and "" for None.
func (f Format) Extension() string {
	switch f {
	case Gzip:
		return ".gz"
	case Zstd:
		return ".zst"
	case Bzip2:
		return ".bz2"
	default:
		return ""
	}
}

// Unreadable reports whether the end of a file's name tells a format that is no text, and that this
// package cannot read: other formats of Hadoop's codecs and of common tools, and archives of files.
func Unreadable(name string) bool {
	if slices.Contains(unreadable, extension(name)) {
		return true
	}
	return Of(name) != None && extension(strings.TrimSuffix(name, path.Ext(name))) == ".tar"
}

var unreadable = []string{
	".br", ".deflate", ".lz", ".lz4", ".lzma", ".lzo", ".snappy", ".sz", ".xz", ".z",
	".7z", ".rar", ".tar", ".tbz2", ".tgz", ".txz", ".tzst", ".zip",
}

func extension(name string) string { return strings.ToLower(path.Ext(name)) }
