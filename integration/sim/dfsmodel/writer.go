package dfsmodel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
)

// flushBytes is how many bytes a writer collects before it calls a DataNode.
const flushBytes = 256 << 10

// Create makes a new file that all users may read.
func (f *FileSystem) Create(ctx context.Context, uri string, parents filesystem.Parents) (io.WriteCloser, error) {
	return f.CreateMode(ctx, uri, dfs.CreateOptions{Parents: parents})
}

// CreateMode makes a new file. With MakeParents it makes two calls, as the client does: a parent that is removed
// between them is fs.ErrNotExist.
func (f *FileSystem) CreateMode(ctx context.Context, uri string, o dfs.CreateOptions) (io.WriteCloser, error) {
	at, err := f.locate(uri)
	if err != nil {
		return nil, err
	}
	if o.Mode == 0 {
		o.Mode = 0o666 &^ umask
	}
	if o.Parents == filesystem.MakeParents {
		if err := f.mkdirs(ctx, path.Dir(at), 0o777&^umask); err != nil {
			return nil, failed("make parents of", at, err)
		}
	}
	w := &writer{files: f, ctx: context.WithoutCancel(ctx), at: at}
	left := false
	err = f.call(ctx, Operation{Kind: Create, Path: at}, func(now time.Time) (err error) {
		w.id, err = f.o.Namespace.Create(now, at, o.Mode.Perm(), f.o.Client, f.o.User)
		if err == nil && left {
			return f.undo(now, at)
		}
		return err
	})
	if err != nil {
		left = true
		return nil, failed("create", at, err)
	}
	return w, nil
}

// undo removes a file that was created after its caller had left. In internal/dfs two more calls do that, a
// moment later.
func (f *FileSystem) undo(now time.Time, at string) error {
	_, err := f.o.Namespace.Delete(now, at, false)
	return err
}

// writer writes one file. Its first error is final.
type writer struct {
	files  *FileSystem
	ctx    context.Context //nolint:containedctx // of the open file: its values identify the process; io.Writer has no room for it
	at     string
	id     FileID
	block  bool   // the NameNode has allocated it
	buffer []byte // not yet written
	failed error
	closed bool
}

// Write collects bytes, and writes them when there are enough.
func (w *writer) Write(b []byte) (int, error) {
	switch {
	case w.closed:
		return 0, w.explain(fs.ErrClosed)
	case w.failed != nil:
		return 0, w.failed
	case len(b) == 0:
		return 0, nil
	}
	if !w.block {
		err := w.call(AddBlock, func(now time.Time) error { return w.files.o.Namespace.AddBlock(now, w.id, w.files.o.Client) })
		if err != nil {
			return 0, err
		}
		w.block = true
	}
	w.buffer = append(w.buffer, b...)
	if len(w.buffer) >= flushBytes {
		if err := w.flush(); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// flush writes the collected bytes to the DataNodes.
func (w *writer) flush() error {
	data := w.buffer
	w.buffer = nil
	return w.call(WriteBlock, func(now time.Time) error {
		return w.files.o.Namespace.Append(now, w.id, w.files.o.Client, data)
	})
}

// Close writes the rest and completes the file. After an error the file stays open: nobody can use it until its
// lease is recovered.
func (w *writer) Close() error {
	if w.closed {
		return w.failed
	}
	w.closed = true
	if w.failed == nil && len(w.buffer) > 0 {
		_ = w.flush() // which notes its error
	}
	if w.failed == nil {
		_ = w.call(Complete, func(now time.Time) error { return w.files.o.Namespace.Complete(now, w.id, w.files.o.Client) })
	}
	return w.failed
}

// call makes a call for the file and notes its error.
func (w *writer) call(kind Kind, effect func(now time.Time) error) error {
	if err := w.files.call(w.ctx, Operation{Kind: kind, Path: w.at}, effect); err != nil {
		w.failed = w.explain(err)
	}
	return w.failed
}

func (w *writer) explain(err error) error { return fmt.Errorf("write %s: %w", uriOf(w.at), err) }

// WriteFile makes a new file with this content and these permission bits, and describes it in a last call.
func (f *FileSystem) WriteFile(ctx context.Context, uri string, content []byte, mode fs.FileMode) error {
	_, err := f.copy(ctx, bytes.NewReader(content), uri, dfs.UploadOptions{CreateOptions: dfs.CreateOptions{Mode: mode}})
	return err
}

// Upload copies a file of this machine to a new file.
func (f *FileSystem) Upload(ctx context.Context, local, uri string, o dfs.UploadOptions) (filesystem.FileInfo, error) {
	source, err := os.Open(local)
	if err != nil {
		return filesystem.FileInfo{}, fmt.Errorf("upload: %w", err)
	}
	defer source.Close()
	return f.copy(ctx, source, uri, o)
}

// copy makes a file from a stream. If that fails, it removes the file.
func (f *FileSystem) copy(ctx context.Context, source io.Reader, uri string, o dfs.UploadOptions) (filesystem.FileInfo, error) {
	target, err := f.CreateMode(ctx, uri, o.CreateOptions)
	if err != nil {
		return filesystem.FileInfo{}, err
	}
	written, err := io.Copy(target, &bounded{ctx: ctx, from: source})
	if closing := target.Close(); err == nil {
		err = closing
	}
	if o.Progress != nil && written > 0 {
		o.Progress(written)
	}
	if err != nil {
		return filesystem.FileInfo{}, errors.Join(err, f.RemoveAll(context.WithoutCancel(ctx), uri))
	}
	return f.Stat(ctx, uri)
}

// bounded is a stream that ends with its context.
type bounded struct {
	ctx  context.Context //nolint:containedctx // lives for one copy; io.Reader has no room for it
	from io.Reader
}

func (b *bounded) Read(p []byte) (int, error) {
	if err := context.Cause(b.ctx); err != nil {
		return 0, err
	}
	return b.from.Read(p)
}
