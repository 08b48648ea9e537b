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
	"io/fs"
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
	// ErrQuota says that a directory has no room for what is to be written, by a limit
	// of its own: on names, on space, or on one kind of storage.
	ErrQuota = errors.New("the directory's quota is exceeded: remove something, have the quota raised (hdfs dfsadmin), or write elsewhere")
	// ErrNotEmpty says that a directory was not removed, as there is something in it.
	ErrNotEmpty = errors.New("directory is not empty")
	// ErrTooLarge says that a file has more bytes than the caller takes.
	ErrTooLarge = errors.New("file is too large")
)

// Final tells whether an error is a file system's last word: another try, at another time or by
// another process, would hear the same until somebody has changed something. All else may pass.
func Final(err error) bool {
	for _, word := range []error{fs.ErrPermission, ErrEncryptionZone, ErrErasureCoded, ErrQuota} {
		if errors.Is(err, word) {
			return true
		}
	}
	return false
}

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
	// Scan describes the entries of a directory as those need it who will read them,
	// sorted by name, in parts of some hundred, so that a directory of a million files
	// takes no memory for itself. Of a file it gives that file. An error that part
	// gives ends it.
	Scan(ctx context.Context, uri string, part func([]Entry) error) error
	// CheckReadable tells whether a file may be read, without reading it.
	CheckReadable(ctx context.Context, uri string) error
	// Open opens a file for reading at any offset. Files that would be read as
	// garbage give ErrEncryptionZone or ErrErasureCoded.
	Open(ctx context.Context, uri string) (File, error)
	// Load reads a whole file of at most limit bytes, ErrTooLarge where it has more,
	// and describes what it has read. For a small file it takes less than Open.
	Load(ctx context.Context, uri string, limit int64) ([]byte, FileInfo, error)
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
	// Remove removes a file or an empty directory; ErrNotEmpty where it is another,
	// and what comes into it meanwhile stays. A missing one is no error.
	Remove(ctx context.Context, uri string) error
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
	// Info describes the file as it was when it was opened.
	Info() FileInfo
}

// FileInfo describes a file or a directory.
type FileInfo struct {
	URI     string    // fully qualified
	Size    int64     // bytes; 0 for directories
	ModTime time.Time // to the millisecond, as HDFS keeps it
	IsDir   bool
}

// Entry is a file or a directory as Scan gives it.
type Entry struct {
	FileInfo
	// Blocks are those of a file in the order of their offsets; a local file is one
	// block with no hosts.
	Blocks []Block
	// Refused says why a file cannot be read by anybody here: ErrEncryptionZone or
	// ErrErasureCoded. Nil where it can.
	Refused error
	// Rights decides who may read it: files of one directory that have the same may be
	// read by the same users. "": it is not known to be that of any other.
	Rights string
}

// Block is a run of a file's bytes that lies on the same hosts.
type Block struct {
	Offset, Length int64
	Hosts          []string // names as the DataNodes registered them; may be empty
}
