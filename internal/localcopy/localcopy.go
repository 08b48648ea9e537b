// Package localcopy copies a file of the cluster's file systems to this machine, and checks that it
// is the expected one. It starts no goroutines.
package localcopy

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
)

var (
	// ErrChanged says that a file is not the expected one.
	ErrChanged = errors.New("the file has changed")
	// ErrGone says that there is no file any more.
	ErrGone = errors.New("the file is gone")
	// ErrUnreadable says that the file system forbids to read the file, or that it cannot be read in
	// principle: see filesystem.Final.
	ErrUnreadable = errors.New("the file cannot be read")
)

// Final tells whether an error of Make is a fact about the file: each process that wants the same
// file fails with it, on each machine.
func Final(err error) bool {
	return errors.Is(err, ErrChanged) || errors.Is(err, ErrGone) || errors.Is(err, ErrUnreadable)
}

// writeBytes is the number of bytes of one write. They are held in memory until then.
const writeBytes = 256 << 10

// Files is the part of a filesystem.FileSystem that Make needs.
type Files interface {
	Stat(ctx context.Context, uri string) (filesystem.FileInfo, error)
	Open(ctx context.Context, uri string) (filesystem.File, error)
}

// Want describes the expected file.
type Want struct {
	URI    string
	SHA256 string // lower-case hex; "" if Size and ModTime identify the file
	// Size in bytes and ModTime in ms since 1970 are not compared if ModTime is 0.
	Size, ModTime int64
	// Mode is the mode of the copy, without what the umask takes.
	Mode fs.FileMode
}

// Make copies a file to path, and returns its size in bytes. The copy appears only when it is
// complete and the expected one; otherwise the error is ErrChanged, ErrGone, ErrUnreadable, or one of the
// file systems. After an error nothing is left. The memory is bounded. The size in the file system bounds the written
// bytes. Only the caller may use path, and path with ".part". The end of ctx ends Make with ctx's
// cause.
func Make(ctx context.Context, files Files, want Want, path string) (size int64, err error) {
	part := path + ".part"
	size, err = fetch(ctx, files, want, part)
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		if left := os.Remove(part); !errors.Is(left, fs.ErrNotExist) {
			err = errors.Join(err, left)
		}
		return 0, err
	}
	return size, nil
}

func fetch(ctx context.Context, files Files, want Want, path string) (int64, error) {
	info, err := files.Stat(ctx, want.URI)
	if err != nil {
		return 0, ofSource(err)
	}
	if modified := info.ModTime.UnixMilli(); want.ModTime != 0 && (info.Size != want.Size || modified != want.ModTime) {
		return 0, fmt.Errorf("%w: it had %d bytes of time %d, and has %d bytes of time %d", ErrChanged, want.Size, want.ModTime, info.Size, modified)
	}
	source, err := files.Open(ctx, want.URI)
	if err != nil {
		return 0, ofSource(err)
	}
	defer source.Close()
	release := context.AfterFunc(ctx, func() { source.Close() }) // ends a waiting read
	defer release()
	sum, size, err := write(path, want.Mode, io.LimitReader(source, info.Size+1)) // one byte more, to notice a longer file
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case err != nil:
		return 0, err
	case size != info.Size:
		return 0, fmt.Errorf("%w: want %d bytes, read %d", ErrChanged, info.Size, size)
	case want.SHA256 != "" && sum != want.SHA256:
		return 0, fmt.Errorf("%w: its SHA-256 is %s", ErrChanged, sum)
	}
	return size, nil
}

// ofSource names an error that is a fact about the file.
func ofSource(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: %w", ErrGone, err)
	case filesystem.Final(err):
		return fmt.Errorf("%w: %w", ErrUnreadable, err)
	default:
		return err
	}
}

// write writes a new file and returns the SHA-256 and the number of its bytes.
func write(path string, mode fs.FileMode, from io.Reader) (sum string, size int64, err error) {
	digest := sha256.New()
	out := &runnable{path: path}
	file := bufio.NewWriterSize(out, writeBytes)
	if size, err = io.Copy(io.MultiWriter(file, digest), from); err == nil {
		err = file.Flush()
	}
	if err == nil && !out.made { // it is empty
		_, err = out.Write(nil)
	}
	if err == nil {
		err = os.Chmod(path, mode)
	}
	return hex.EncodeToString(digest.Sum(nil)), size, err
}

// runnable is a new file that its owner can execute. It is open only during a write, and the
// process forks no child meanwhile. A child inherits all open files until some time after it has
// started its own program, and a file that any process has open for writing cannot be executed
// (ETXTBSY).
type runnable struct {
	path string
	made bool
}

// Write appends.
func (r *runnable) Write(b []byte) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	how := os.O_WRONLY | os.O_APPEND
	if !r.made {
		how = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	}
	file, err := os.OpenFile(r.path, how, 0o700)
	if err != nil {
		return 0, err
	}
	r.made = true
	n, err := file.Write(b)
	return n, errors.Join(err, file.Close())
}
