package taskhost

import (
	"context"
	"io"
	"sync/atomic"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
)

// countedFiles counts the bytes that a task reads from and writes to files. Sources and file sinks
// have no other traffic on that side.
type countedFiles struct {
	filesystem.FileSystem
	read, written atomic.Int64 // bytes
}

func (f *countedFiles) Open(ctx context.Context, uri string) (filesystem.File, error) {
	file, err := f.FileSystem.Open(ctx, uri)
	if err != nil {
		return nil, err
	}
	return &countedReader{file, &f.read}, nil
}

func (f *countedFiles) Load(ctx context.Context, uri string, limit int64) ([]byte, filesystem.FileInfo, error) {
	content, info, err := f.FileSystem.Load(ctx, uri, limit)
	f.read.Add(int64(len(content)))
	return content, info, err
}

func (f *countedFiles) Create(ctx context.Context, uri string, parents filesystem.Parents) (io.WriteCloser, error) {
	file, err := f.FileSystem.Create(ctx, uri, parents)
	if err != nil {
		return nil, err
	}
	return &countedWriter{file, &f.written}, nil
}

type countedReader struct {
	filesystem.File
	bytes *atomic.Int64
}

func (r *countedReader) Read(p []byte) (int, error) {
	n, err := r.File.Read(p)
	r.bytes.Add(int64(n))
	return n, err
}

type countedWriter struct {
	io.WriteCloser
	bytes *atomic.Int64
}

func (w *countedWriter) Write(p []byte) (int, error) {
	n, err := w.WriteCloser.Write(p)
	w.bytes.Add(int64(n))
	return n, err
}
