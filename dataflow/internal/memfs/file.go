package memfs

import (
	"bytes"
	"fmt"
	"io/fs"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
)

// reader is an open file. Its content is never changed, only replaced.
type reader struct {
	*bytes.Reader
	fs   *FS
	info filesystem.FileInfo
}

func (r *reader) Info() filesystem.FileInfo { return r.info }

func (r *reader) Read(p []byte) (int, error) {
	if err := r.fs.fault(Call{Op: "Read", URI: r.info.URI}); err != nil {
		return 0, err
	}
	return r.Reader.Read(p)
}

func (r *reader) Close() error {
	return r.fs.fault(Call{Op: "CloseRead", URI: r.info.URI})
}

// writer is a file being written. Like HDFS's writer, it fails once the file is
// removed.
type writer struct {
	fs    *FS
	uri   string
	entry *entry
}

func (w *writer) Write(p []byte) (int, error) {
	if err := w.do("Write", func() { w.entry.data = append(w.entry.data, p...) }); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *writer) Close() error {
	return w.do("Close", func() { w.entry.mod = w.fs.tick() })
}

func (w *writer) do(op string, work func()) error {
	if err := w.fs.fault(Call{Op: op, URI: w.uri}); err != nil {
		return err
	}
	w.fs.mu.Lock()
	removed := w.entry.removed
	if !removed {
		work()
	}
	w.fs.mu.Unlock()
	if removed {
		return fmt.Errorf("write %s: %w", w.uri, fs.ErrNotExist)
	}
	return w.fs.fault(Call{Op: op, URI: w.uri, Done: true})
}
