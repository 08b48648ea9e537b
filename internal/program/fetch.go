package program

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
	"github.com/bobbin-yarn/bobbin/internal/msg"
)

// ErrChanged says that a staged file is not the program with the expected hash.
var ErrChanged = errors.New("the file is not the program that was uploaded: remove it and submit the job again")

// writeBytes is the number of bytes of one write. They are held in memory until then.
const writeBytes = 256 << 10

// Files is the part of a filesystem.FileSystem that Fetch needs.
type Files interface {
	Stat(ctx context.Context, uri string) (filesystem.FileInfo, error)
	Open(ctx context.Context, uri string) (filesystem.File, error)
}

// Fetch copies a staged program to a file that its owner can execute, and returns its size in
// bytes. The file appears only when it is complete and its hash is right. After an error nothing is
// left. The error names the program, its URI and the cause, such as ErrChanged. The memory is
// bounded. The size in the file system bounds the written bytes. Only the caller may use path, and
// path with ".part". The end of ctx ends Fetch with ctx's cause.
func Fetch(ctx context.Context, files Files, p msg.Program, path string) (size int64, err error) {
	part := path + ".part"
	size, err = fetch(ctx, files, p, part)
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		if left := os.Remove(part); !errors.Is(left, fs.ErrNotExist) {
			err = errors.Join(err, left)
		}
		return 0, fmt.Errorf("fetch program %s (SHA-256 %s) from %s: %w", p.Name, p.SHA256, p.URI, err)
	}
	return size, nil
}

// Verify checks that a file from another process, such as a NodeManager, has this SHA-256 in
// lower-case hex. Otherwise the error is ErrChanged.
func Verify(path, want string) error {
	digest := sha256.New()
	file, err := os.Open(path)
	if err == nil {
		_, err = io.Copy(digest, file)
		err = errors.Join(err, file.Close())
	}
	if sum := hex.EncodeToString(digest.Sum(nil)); err == nil && sum != want {
		err = fmt.Errorf("%w: its SHA-256 is %s", ErrChanged, sum)
	}
	if err != nil {
		return fmt.Errorf("check program %s (SHA-256 %s): %w", path, want, cause(err))
	}
	return nil
}

func fetch(ctx context.Context, files Files, p msg.Program, path string) (int64, error) {
	info, err := files.Stat(ctx, p.URI)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%w: submit the job again, and it uploads the program again", err)
	}
	if err != nil {
		return 0, err
	}
	source, err := files.Open(ctx, p.URI)
	if err != nil {
		return 0, err
	}
	defer source.Close()
	release := context.AfterFunc(ctx, func() { source.Close() }) // ends a waiting read
	defer release()
	sum, size, err := write(path, io.LimitReader(source, info.Size+1)) // one byte more, to notice a longer file
	switch {
	case ctx.Err() != nil:
		return 0, context.Cause(ctx)
	case err != nil:
		return 0, err
	case size != info.Size:
		return 0, fmt.Errorf("%w: want %d bytes, read %d", ErrChanged, info.Size, size)
	case sum != p.SHA256:
		return 0, fmt.Errorf("%w: its SHA-256 is %s", ErrChanged, sum)
	}
	return size, nil
}

// write writes a new file and returns the SHA-256 and the number of its bytes.
func write(path string, from io.Reader) (sum string, size int64, err error) {
	digest := sha256.New()
	file := bufio.NewWriterSize(&runnable{path: path}, writeBytes)
	if size, err = io.Copy(io.MultiWriter(file, digest), from); err == nil {
		err = file.Flush()
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
