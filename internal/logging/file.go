package logging

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// Sizes of a rotated log.
const (
	maxSize  = 10 << 20 // bytes of one file
	maxFiles = 10       // the current file and older ones; name.1 is the newest of these
)

// errClosed says that a log is closed.
var errClosed = errors.New("log is closed")

// File is a log file that rotates before it exceeds its size. Any goroutine may write to it.
type File struct {
	path     string
	maxSize  int64
	maxFiles int

	mu     sync.Mutex // guards what follows
	closed bool
	file   *os.File // nil after a rotation that could not open the next file
	size   int64
	// midLine is true if the last write did not end its line.
	midLine bool
}

// OpenFile opens the log with this name in a directory, which must exist, and appends to it.
func OpenFile(dir, name string) (*File, error) { return openFile(dir, name, maxSize, maxFiles) }

func openFile(dir, name string, maxSize int64, maxFiles int) (*File, error) {
	f := &File{path: filepath.Join(dir, name), maxSize: maxSize, maxFiles: maxFiles}
	if err := f.open(); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *File) open() error {
	file, err := os.OpenFile(f.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640) // YARN's group may read it, like YARN's own logs
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("open log: %w", err), file.Close())
	}
	f.file, f.size, f.midLine = file, info.Size(), false
	return nil
}

// Write appends p. It keeps a line in one file, unless the line is as large as a file.
func (f *File) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return 0, fmt.Errorf("write log %s: %w", f.path, errClosed)
	}
	if f.file == nil {
		if err := f.open(); err != nil {
			return 0, err
		}
	}
	written := 0
	if f.midLine && f.size < f.maxSize {
		n, err := f.append(p[:lineEnd(p)])
		if written = n; err != nil || n == len(p) {
			return written, err
		}
	}
	if f.size > 0 && f.size+int64(len(p)-written) > f.maxSize {
		if err := f.rotate(); err != nil {
			return written, err
		}
	}
	n, err := f.append(p[written:])
	return written + n, err
}

// lineEnd returns the end of the first line of p, after its newline.
func lineEnd(p []byte) int {
	if i := bytes.IndexByte(p, '\n'); i >= 0 {
		return i + 1
	}
	return len(p)
}

func (f *File) append(p []byte) (int, error) {
	n, err := f.file.Write(p)
	f.size += int64(n)
	if n > 0 {
		f.midLine = p[n-1] != '\n'
	}
	if err != nil {
		return n, fmt.Errorf("write log: %w", err)
	}
	return n, nil
}

// rotate renames name to name.1, name.1 to name.2 and so on, and drops the oldest file.
func (f *File) rotate() error {
	err := f.file.Close()
	f.file = nil
	if err != nil {
		return fmt.Errorf("rotate log: %w", err)
	}
	for i := f.maxFiles - 1; i > 0; i-- {
		if err := os.Rename(f.numbered(i-1), f.numbered(i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(fmt.Errorf("rotate log: %w", err), f.open())
		}
	}
	return f.open()
}

func (f *File) numbered(i int) string {
	if i == 0 {
		return f.path
	}
	return f.path + "." + strconv.Itoa(i)
}

// Close closes the file. It may be called more than once.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	if f.file == nil {
		return nil
	}
	if err := f.file.Close(); err != nil {
		return fmt.Errorf("close log: %w", err)
	}
	return nil
}
