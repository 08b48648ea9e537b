package dfsmodel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
)

var (
	errIsDirectory = errors.New("is a directory")
	errChanged     = errors.New("the file has changed while it was read")
)

// Open opens a file. It reads nothing yet.
func (f *FileSystem) Open(ctx context.Context, uri string) (filesystem.File, error) {
	var found Status
	err := f.at(ctx, "open", uri, Operation{Kind: GetFileInfo}, func(now time.Time, at string) (err error) {
		found, err = f.o.Namespace.Stat(now, at)
		if err == nil && found.IsDir {
			err = errIsDirectory
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &reader{files: f, ctx: context.WithoutCancel(ctx), opened: found}, nil
}

// Load reads a whole file of at most limit bytes. A file that is open for writing has none.
func (f *FileSystem) Load(ctx context.Context, uri string, limit int64) ([]byte, filesystem.FileInfo, error) {
	var content []byte
	var found Status
	err := f.at(ctx, "read", uri, Operation{Kind: Load}, func(now time.Time, at string) (err error) {
		content, found, err = f.o.Namespace.Read(now, at)
		switch {
		case found.IsDir:
			return errIsDirectory
		case err == nil && found.Size > limit:
			return filesystem.ErrTooLarge
		default:
			return err
		}
	})
	if err != nil {
		return nil, filesystem.FileInfo{}, err
	}
	return content, found.info(), nil
}

// ReadFile reads a whole file of at most limit bytes. A larger file is an error.
func (f *FileSystem) ReadFile(ctx context.Context, uri string, limit int64) ([]byte, error) {
	content, _, err := f.Load(ctx, uri, limit)
	if errors.Is(err, filesystem.ErrTooLarge) {
		err = fmt.Errorf("%w: it has more than %d bytes", err, limit)
	}
	return content, err
}

// reader is an open file. Its first Read, and the first one after a Seek, makes one call, which finds the file by
// its path and reads all the rest.
type reader struct {
	files    *FileSystem
	ctx      context.Context //nolint:containedctx // of the open file: its values identify the process; io.Reader has no room for it
	opened   Status
	position int64
	rest     []byte // from the position on; nil: not read yet
	failed   error
	closed   bool
}

func (r *reader) Info() filesystem.FileInfo { return r.opened.info() }

func (r *reader) Read(b []byte) (int, error) {
	switch {
	case r.closed:
		return 0, r.explain(fs.ErrClosed)
	case len(b) == 0:
		return 0, nil
	case r.failed != nil:
		return 0, r.failed
	case r.position >= r.opened.Size:
		return 0, io.EOF
	}
	if r.rest == nil {
		if err := r.fetch(); err != nil {
			r.failed = r.explain(err)
			return 0, r.failed
		}
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	r.position += int64(n)
	return n, nil
}

// fetch reads the file that is at the path now. Like internal/dfs, it notices another file only by its length.
func (r *reader) fetch() error {
	var rest []byte
	err := r.files.call(r.ctx, Operation{Kind: ReadBlock, Path: r.opened.Path}, func(now time.Time) error {
		content, found, err := r.files.o.Namespace.Read(now, r.opened.Path)
		switch {
		case err != nil:
			return err
		case found.Size != r.opened.Size: // also 0, of a file that is being written
			return errChanged
		}
		rest = content[r.position:]
		return nil
	})
	if err == nil {
		r.rest = rest // not in the effect, which may come after a Seek if the call was given up
	}
	return err
}

func (r *reader) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.position
	case io.SeekEnd:
		offset += r.opened.Size
	case io.SeekStart:
	default:
		return 0, r.explain(fmt.Errorf("seek with whence %d: %w", whence, fs.ErrInvalid))
	}
	if offset < 0 {
		return 0, r.explain(fmt.Errorf("seek to %d: %w", offset, fs.ErrInvalid))
	}
	if offset != r.position {
		r.position, r.rest, r.failed = offset, nil, nil
	}
	return offset, nil
}

func (r *reader) Close() error {
	r.closed = true
	return nil
}

func (r *reader) explain(err error) error {
	return fmt.Errorf("read %s: %w", uriOf(r.opened.Path), err)
}
