package dfs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
)

// UploadOptions say how Upload writes.
type UploadOptions struct {
	CreateOptions
	// Progress is called with the bytes written so far, after each piece of
	// about a megabyte and at the end, from the caller's goroutine.
	Progress func(written int64)
}

// progressBytes is how much is copied between two calls of Progress and two
// looks at the context.
const progressBytes = 1 << 20

// Upload copies a local file to a new file. Nothing is left there when it
// fails or the context ends. Readers may see the file before it is complete:
// upload to a temporary name and Rename where that matters.
func (f *FS) Upload(ctx context.Context, local, uri string, o UploadOptions) (filesystem.FileInfo, error) {
	source, err := os.Open(local)
	if err != nil {
		return filesystem.FileInfo{}, fmt.Errorf("upload: %w", err)
	}
	defer source.Close()
	return f.write(ctx, source, uri, o)
}

// WriteFile makes a new file with the given content and permission bits;
// fs.ErrExist where the file exists. Its parent must exist.
func (f *FS) WriteFile(ctx context.Context, uri string, content []byte, mode fs.FileMode) error {
	_, err := f.write(ctx, bytes.NewReader(content), uri, UploadOptions{CreateOptions: CreateOptions{Mode: mode}})
	return err
}

func (f *FS) write(ctx context.Context, source io.Reader, uri string, o UploadOptions) (filesystem.FileInfo, error) {
	target, err := f.CreateMode(ctx, uri, o.CreateOptions)
	if err != nil {
		return filesystem.FileInfo{}, err
	}
	if err = copyAll(ctx, target, source, o.Progress); err != nil {
		// The context may be what ended the copy; the file must go all the same.
		return filesystem.FileInfo{}, errors.Join(err, f.RemoveAll(context.WithoutCancel(ctx), uri))
	}
	return f.Stat(ctx, uri)
}

// copyAll copies source into target, and closes that. What fails once the context has ended is an interruption, whatever else
// went wrong then.
func copyAll(ctx context.Context, target io.WriteCloser, source io.Reader, progress func(int64)) (err error) {
	defer func() {
		if cause := context.Cause(ctx); err != nil && cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w; %w", cause, err)
		}
	}()
	var written int64
	for {
		n, err := io.CopyN(target, source, progressBytes)
		written += n
		if progress != nil && n > 0 {
			progress(written)
		}
		if errors.Is(err, io.EOF) {
			return target.Close()
		}
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			target.Close()
			return err
		}
	}
}

// ReadFile reads a whole file of at most limit bytes; a larger one is an error.
func (f *FS) ReadFile(ctx context.Context, uri string, limit int64) ([]byte, error) {
	content, _, err := f.Load(ctx, uri, limit)
	if errors.Is(err, filesystem.ErrTooLarge) {
		err = fmt.Errorf("%w: it has more than %d bytes", err, limit)
	}
	return content, err
}
