// Package filesystem is the interface between the SDK and the file systems that hold a job's
// input and output. Its few calls have the same meaning on HDFS and on a local disk. The
// runtime provides the implementation; this package does no I/O.
//
// A path is a URI (hdfs://nn:8020/a, file:///tmp/a) or a plain path. A plain path is on the
// default file system of the Hadoop configuration, or on the local disk if there is no
// configuration. Every FileInfo holds the fully qualified URI, and the planner sends only
// qualified URIs to the tasks. The text after the authority is the path, byte for byte, as in
// Hadoop's Path: nothing is percent-encoded.
package filesystem

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"time"
)

// Errors that callers test with errors.Is, beside those of package io/fs
// (fs.ErrNotExist, fs.ErrExist, fs.ErrPermission).
var (
	// ErrEncryptionZone says that a file lies in an HDFS encryption zone. Its
	// bytes would be read as ciphertext, so it is refused.
	ErrEncryptionZone = errors.New("file lies in an HDFS encryption zone, which is not supported yet: use a directory outside the zone")
	// ErrErasureCoded says that an erasure coding policy stripes the file. The HDFS client
	// cannot read such files.
	ErrErasureCoded = errors.New("file is erasure coded, which is not supported yet: use a copy in a directory with replication")
	// ErrQuota says that a write would exceed a quota of the directory: on names, on space, or
	// on one storage type.
	ErrQuota = errors.New("the directory's quota is exceeded: delete files, ask an administrator to raise the quota (hdfs dfsadmin), or choose another directory")
	// ErrNotEmpty says that a directory was not removed because it is not empty.
	ErrNotEmpty = errors.New("directory is not empty")
	// ErrTooLarge says that a file has more bytes than the caller takes.
	ErrTooLarge = errors.New("file is too large")
)

// Final reports whether an error is permanent: every retry, by any process, fails the same way
// until a user or administrator changes something. Other errors may be temporary.
func Final(err error) bool {
	for _, word := range []error{fs.ErrPermission, ErrEncryptionZone, ErrErasureCoded, ErrQuota} {
		if errors.Is(err, word) {
			return true
		}
	}
	return false
}

// FileSystem is a set of file systems. The scheme of the URI selects one of them. All methods
// may be called from any goroutine. Errors wrap the cause and name the operation and the URI.
type FileSystem interface {
	// Qualify returns the fully qualified, cleaned form of a URI or path
	// (scheme://authority/path). The file need not exist. Qualify does no I/O.
	Qualify(uri string) (string, error)
	// Stat describes one file or directory. The error is fs.ErrNotExist if there is none.
	Stat(ctx context.Context, uri string) (FileInfo, error)
	// List describes the entries of a directory, sorted by name.
	List(ctx context.Context, dir string) ([]FileInfo, error)
	// Scan describes the entries of a directory for a reader, sorted by name. It passes them to
	// part in batches of some hundred entries, so that its memory does not grow with the
	// directory. If uri is a file, Scan passes that file. An error from part ends Scan.
	Scan(ctx context.Context, uri string, part func([]Entry) error) error
	// CheckReadable checks that a file may be read, without reading it.
	CheckReadable(ctx context.Context, uri string) error
	// Open opens a file for reading at any offset. The error is ErrEncryptionZone or
	// ErrErasureCoded if the bytes read would not be the file's content.
	Open(ctx context.Context, uri string) (File, error)
	// Load reads a whole file of at most limit bytes and describes it. The error is ErrTooLarge
	// if the file is larger. For a small file, Load is cheaper than Open.
	Load(ctx context.Context, uri string, limit int64) ([]byte, FileInfo, error)
	// Create makes a new file, and with MakeParents its missing parents. The error is
	// fs.ErrExist if the file exists. With ExistingParents it is fs.ErrNotExist if a parent is
	// missing. A late attempt learns from this error that its directory was removed.
	Create(ctx context.Context, uri string, parents Parents) (io.WriteCloser, error)
	// Rename moves a file or directory, and fails if the target exists. The error is then
	// fs.ErrExist if both are files or both are directories; otherwise HDFS gives another error.
	// The error is fs.ErrNotExist if the source or the target's parent is missing. On HDFS a
	// rename is atomic: if several callers rename to one target, one succeeds.
	Rename(ctx context.Context, from, to string) error
	// RenameAll does what Rename does for each move, several at a time and in any order. After the
	// first error it begins no further move. It returns when no move is under way any more. The
	// error then wraps those of all failed moves; any of the other moves may be done or not.
	RenameAll(ctx context.Context, moves []Move) error
	// Mkdir makes one directory. The error is fs.ErrNotExist if its parent is missing, and fs.ErrExist
	// if there is a file or a directory. A caller that repeats a call after a doubtful answer must take
	// fs.ErrExist for success. On HDFS two callers at the same time may both succeed. If only one may,
	// each makes a directory of another name and renames it.
	Mkdir(ctx context.Context, dir string) error
	// MkdirAll makes a directory and its parents. It is no error if the directory exists.
	MkdirAll(ctx context.Context, dir string) error
	// RemoveAll removes a file or a tree. It is no error if there is none.
	RemoveAll(ctx context.Context, uri string) error
	// Remove removes a file or an empty directory. The error is ErrNotEmpty if the directory
	// has entries, also if one was added during the call. It is no error if there is nothing to
	// remove.
	Remove(ctx context.Context, uri string) error
}

// Move is one rename of RenameAll.
type Move struct{ From, To string }

// Parents says what Create does about missing parent directories.
type Parents int

// The two ways to create a file.
const (
	ExistingParents Parents = iota + 1
	MakeParents
)

// File is an open file. Only one goroutine at a time may use it, but another one may call Close
// to end a blocked read.
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

// Entry is a file or a directory in the result of Scan.
type Entry struct {
	FileInfo
	// Blocks are the file's blocks in the order of their offsets. A local file is one block
	// without hosts.
	Blocks []Block
	// Refused says why this package's users cannot read the file: ErrEncryptionZone or
	// ErrErasureCoded. It is nil if they can.
	Refused error
	// Rights stands for the file's permissions. Two files of one directory with the same Rights
	// can be read by the same users. "" is unknown: it says nothing about other files.
	Rights string
}

// Block is a range of a file's bytes that lies on the same hosts.
type Block struct {
	Offset, Length int64
	Hosts          []string // names as the DataNodes registered them; may be empty
}

// Split separates a qualified URI into its file system, scheme://authority, and the path, which begins with a slash.
func Split(uri string) (root, path string) {
	scheme, rest, _ := strings.Cut(uri, "://")
	authority, names, _ := strings.Cut(rest, "/")
	return scheme + "://" + authority, "/" + names
}
