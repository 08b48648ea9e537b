// Package filesystem is what the SDK asks of the file systems that hold a
// job's input and output: a handful of calls that HDFS and a local disk both
// answer with the same meaning. The runtime brings the implementation; nothing
// here does I/O.
//
// Paths are URIs (hdfs://nn:8020/a, file:///tmp/a) or plain paths, which are on
// the default file system of the Hadoop configuration, or on the local disk
// where there is none. Every FileInfo carries the fully qualified URI, and only
// qualified URIs travel from the planner to the tasks. What follows the authority
// is the path, byte for byte, as in Hadoop's Path: nothing is percent-encoded.
package filesystem

import (
	"context"
	"errors"
	"io"
	"time"
)

// Errors that callers test with errors.Is, beside those of package io/fs
// (fs.ErrNotExist, fs.ErrExist, fs.ErrPermission).
var (
	// ErrEncryptionZone says that a file lies in an HDFS encryption zone. Its
	// bytes would be read as ciphertext, so it is refused.
	ErrEncryptionZone = errors.New("file lies in an HDFS encryption zone, where nothing is read or written yet: use a place outside")
	// ErrErasureCoded says that a file is striped by an erasure coding policy,
	// which the HDFS client cannot read.
	ErrErasureCoded = errors.New("file is erasure coded, which is not read or written yet: use a copy in a directory with replication")
)

// FileSystem is a set of file systems told apart by the scheme of the URI. All
// methods may be called from any goroutine. Errors wrap the cause and name the
// operation and the URI.
type FileSystem interface {
	// Qualify gives the fully qualified, cleaned form of a URI or path
	// (scheme://authority/path), whether or not it exists; no I/O.
	Qualify(uri string) (string, error)
	// Stat describes one file or directory; fs.ErrNotExist where there is none.
	Stat(ctx context.Context, uri string) (FileInfo, error)
	// List describes the entries of a directory, sorted by name.
	List(ctx context.Context, dir string) ([]FileInfo, error)
	// Blocks gives the blocks of a file in the order of their offsets. A local
	// file is one block with no hosts.
	Blocks(ctx context.Context, uri string) ([]Block, error)
	// Open opens a file for reading at any offset. Files that would be read as
	// garbage give ErrEncryptionZone or ErrErasureCoded.
	Open(ctx context.Context, uri string) (File, error)
	// Create makes a new file, and its missing parents where parents is set;
	// fs.ErrExist where the file exists. Without parents a missing parent is
	// fs.ErrNotExist: that is how a fenced attempt learns that it is late.
	Create(ctx context.Context, uri string, parents Parents) (io.WriteCloser, error)
	// Rename moves a file or directory. An existing target is fs.ErrExist and a
	// missing source or target parent fs.ErrNotExist. On HDFS that is one step: of
	// several that rename to one place, one succeeds.
	Rename(ctx context.Context, from, to string) error
	// MkdirAll makes a directory and its parents; an existing one is no error.
	MkdirAll(ctx context.Context, dir string) error
	// RemoveAll removes a file or a tree; a missing one is no error.
	RemoveAll(ctx context.Context, uri string) error
}

// Parents says what Create does about missing parent directories.
type Parents int

// The two ways to create a file.
const (
	ExistingParents Parents = iota + 1
	MakeParents
)

// File is an open file. It is used by one goroutine at a time; Close may be
// called from another to end a blocked read.
type File interface {
	io.Reader
	io.Seeker
	io.Closer
}

// FileInfo describes a file or a directory.
type FileInfo struct {
	URI     string    // fully qualified
	Size    int64     // bytes; 0 for directories
	ModTime time.Time // to the millisecond, as HDFS keeps it
	IsDir   bool
}

// Block is a run of a file's bytes that lies on the same hosts.
type Block struct {
	Offset, Length int64
	Hosts          []string // names as the DataNodes registered them; may be empty
}
