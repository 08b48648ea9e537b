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

// UploadOptions configure Upload.
type UploadOptions struct {
	CreateOptions
	// Progress receives the number of bytes written so far, after each megabyte or so and at the
	// end. The caller's goroutine calls it.
	Progress func(written int64)
}

// progressBytes is how much is copied between two calls of Progress and two checks of the context.
const progressBytes = 1 << 20

// Upload copies a local file to a new file. If it fails or the context ends, it leaves nothing
// behind. Readers may see the file before it is complete. If that matters, upload to a temporary
// name and rename.
func (f *FS) Upload(ctx context.Context, local, uri string, o UploadOptions) (filesystem.FileInfo, error) {
	source, err := os.Open(local)
	if err != nil {
		return filesystem.FileInfo{}, fmt.Errorf("upload: %w", err)
	}
	defer source.Close()
	return f.write(ctx, source, uri, o)
}

// WriteFile makes a new file with this content and these permission bits. If the file exists, the
// error is fs.ErrExist. Its parent must exist.
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
		// The file must be removed even if the end of the context has ended the copy.
		return filesystem.FileInfo{}, errors.Join(err, f.RemoveAll(context.WithoutCancel(ctx), uri))
	}
	return f.Stat(ctx, uri)
}

// copyAll copies source into target, and closes target. After the end of the context, its error is
// an interruption, together with any other error.
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

// ReadFile reads a whole file of at most limit bytes. A larger file is an error.
func (f *FS) ReadFile(ctx context.Context, uri string, limit int64) ([]byte, error) {
	content, _, err := f.Load(ctx, uri, limit)
	if errors.Is(err, filesystem.ErrTooLarge) {
		err = fmt.Errorf("%w: it has more than %d bytes", err, limit)
	}
	return content, err
}
