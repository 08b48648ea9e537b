// Package memfs is an in-memory file system that implements package filesystem as
// HDFS does: blocks have hosts, a rename onto an existing target fails, and
// missing parents are made only on request. Tests run jobs against it and make
// single calls fail.
//
// It has no goroutines. It is only for tests, and of this module it imports only
// package filesystem.
package memfs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
)

// scheme begins every qualified URI: mem:///dir/file.
const scheme = "mem://"

// Call describes one call of a method to a fault function.
type Call struct {
	Op   string // the method's name, or Read, Write, Close of an open file
	URI  string // qualified; the source of a Rename
	Done bool   // false before the call does its work, true after it
}

// FS is an in-memory file system. Its methods may be called from any goroutine.
// Set the exported fields before the first call.
type FS struct {
	// BlockSize is the size of a file's blocks; 0 makes each file one block.
	BlockSize int64
	// Hosts returns the hosts of the block with this number. If it is nil, blocks
	// have no hosts.
	Hosts func(uri string, block int) []string
	// Rights returns the Rights of a file in the result of Scan. If it is nil,
	// they are empty.
	Rights func(uri string) string
	// ScanPart is the number of entries in a batch of Scan. 0 means 1000.
	ScanPart int
	// Fault is called before and after the work of each call. If it returns an
	// error, the call fails with it. It may be nil.
	Fault func(Call) error

	*tree
}

// tree is the state that all views of a file system share.
type tree struct {
	mu      sync.Mutex // guards entries, clock and what the entries hold
	entries map[string]*entry
	clock   int64 // milliseconds, advanced by each change
}

type entry struct {
	dir     bool
	data    []byte
	mod     int64 // milliseconds
	removed bool  // a writer that still has the file open must fail
}

var _ filesystem.FileSystem = (*FS)(nil)

// New makes a file system with these files. The map holds the content by path.
func New(files map[string]string) *FS {
	f := &FS{tree: &tree{entries: map[string]*entry{"/": {dir: true}}, clock: 1_700_000_000_000}}
	for name, content := range files {
		f.Write(name, content)
	}
	return f
}

// View returns a second file system with the same files. fault is called only for
// calls of the view.
func (f *FS) View(fault func(Call) error) *FS {
	return &FS{BlockSize: f.BlockSize, Hosts: f.Hosts, Rights: f.Rights, ScanPart: f.ScanPart, Fault: fault, tree: f.tree}
}

// Write creates or replaces a file, and creates its parents. It calls no fault
// function.
func (f *FS) Write(name, content string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := clean(strings.TrimPrefix(name, scheme))
	f.mkdirAll(path.Dir(p))
	f.entries[p] = &entry{data: []byte(content), mod: f.tick()}
}

// Files returns the content of all files by path. The path of a directory without
// files ends with a slash, and its content is empty.
func (f *FS) Files() map[string]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	files := map[string]string{}
	for p, e := range f.entries {
		switch {
		case !e.dir:
			files[p] = string(e.data)
		case p != "/" && len(f.below(p)) == 0:
			files[p+"/"] = ""
		}
	}
	return files
}

// Qualify implements filesystem.FileSystem.
func (f *FS) Qualify(uri string) (string, error) {
	if rest, ok := strings.CutPrefix(uri, scheme); ok {
		return scheme + clean(rest), nil
	}
	if strings.Contains(uri, "://") {
		return "", fmt.Errorf("qualify %s: scheme: %w", uri, errors.ErrUnsupported)
	}
	return scheme + clean(uri), nil
}

// Stat implements filesystem.FileSystem.
func (f *FS) Stat(_ context.Context, uri string) (info filesystem.FileInfo, err error) {
	err = f.call("Stat", uri, func(p string) error {
		e, ok := f.entries[p]
		if !ok {
			return fs.ErrNotExist
		}
		info = e.info(p)
		return nil
	})
	return info, err
}

// List implements filesystem.FileSystem.
func (f *FS) List(_ context.Context, dir string) (infos []filesystem.FileInfo, err error) {
	err = f.call("List", dir, func(p string) error {
		e, ok := f.entries[p]
		if !ok {
			return fs.ErrNotExist
		}
		if !e.dir {
			return errors.New("not a directory")
		}
		for _, child := range f.below(p) {
			if path.Dir(child) == p {
				infos = append(infos, f.entries[child].info(child))
			}
		}
		return nil
	})
	return infos, err
}

// Scan implements filesystem.FileSystem. A batch has ScanPart entries.
func (f *FS) Scan(_ context.Context, uri string, part func([]filesystem.Entry) error) error {
	var entries []filesystem.Entry
	err := f.call("Scan", uri, func(p string) error {
		e, ok := f.entries[p]
		if !ok {
			return fs.ErrNotExist
		}
		if !e.dir {
			entries = append(entries, f.scanned(p))
			return nil
		}
		for _, child := range f.below(p) {
			if path.Dir(child) == p {
				entries = append(entries, f.scanned(child))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for found := range slices.Chunk(entries, cmp.Or(f.ScanPart, 1000)) {
		if err := part(found); err != nil {
			return err
		}
	}
	return nil
}

// scanned describes a file with its blocks. f.mu is held.
func (f *FS) scanned(p string) filesystem.Entry {
	e := f.entries[p]
	entry := filesystem.Entry{FileInfo: e.info(p)}
	if e.dir {
		return entry
	}
	if f.Rights != nil {
		entry.Rights = f.Rights(scheme + p)
	}
	size := int64(len(e.data))
	step := f.BlockSize
	if step == 0 {
		step = max(size, 1)
	}
	for offset := int64(0); offset < size; offset += step {
		b := filesystem.Block{Offset: offset, Length: min(step, size-offset)}
		if f.Hosts != nil {
			b.Hosts = f.Hosts(scheme+p, len(entry.Blocks))
		}
		entry.Blocks = append(entry.Blocks, b)
	}
	return entry
}

// CheckReadable implements filesystem.FileSystem.
func (f *FS) CheckReadable(_ context.Context, uri string) error {
	return f.call("CheckReadable", uri, func(p string) error {
		if e, ok := f.entries[p]; !ok || e.dir {
			return fs.ErrNotExist
		}
		return nil
	})
}

// Open implements filesystem.FileSystem. The reader sees the content at the time
// of Open.
func (f *FS) Open(_ context.Context, uri string) (file filesystem.File, err error) {
	err = f.call("Open", uri, func(p string) error {
		e, ok := f.entries[p]
		if !ok || e.dir {
			return fs.ErrNotExist
		}
		file = &reader{Reader: bytes.NewReader(e.data), fs: f, info: e.info(p)}
		return nil
	})
	return file, err
}

// Load implements filesystem.FileSystem.
func (f *FS) Load(_ context.Context, uri string, limit int64) (content []byte, info filesystem.FileInfo, err error) {
	err = f.call("Load", uri, func(p string) error {
		e, ok := f.entries[p]
		if !ok || e.dir {
			return fs.ErrNotExist
		}
		if int64(len(e.data)) > limit {
			return filesystem.ErrTooLarge
		}
		content, info = slices.Clone(e.data), e.info(p)
		return nil
	})
	return content, info, err
}

// Create implements filesystem.FileSystem.
func (f *FS) Create(_ context.Context, uri string, parents filesystem.Parents) (w io.WriteCloser, err error) {
	err = f.call("Create", uri, func(p string) error {
		if _, ok := f.entries[p]; ok {
			return fs.ErrExist
		}
		if parents == filesystem.MakeParents {
			f.mkdirAll(path.Dir(p))
		}
		if parent, ok := f.entries[path.Dir(p)]; !ok || !parent.dir {
			return fs.ErrNotExist
		}
		e := &entry{mod: f.tick()}
		f.entries[p] = e
		w = &writer{fs: f, uri: scheme + p, entry: e}
		return nil
	})
	return w, err
}

// Rename implements filesystem.FileSystem.
func (f *FS) Rename(_ context.Context, from, to string) error {
	return f.call("Rename", from, func(p string) error {
		target := clean(strings.TrimPrefix(to, scheme))
		if _, ok := f.entries[p]; !ok {
			return fs.ErrNotExist
		}
		if _, ok := f.entries[target]; ok {
			return fs.ErrExist
		}
		if parent, ok := f.entries[path.Dir(target)]; !ok || !parent.dir || strings.HasPrefix(target, p+"/") {
			return fs.ErrNotExist
		}
		for _, old := range append(f.below(p), p) {
			f.entries[target+strings.TrimPrefix(old, p)] = f.entries[old]
			delete(f.entries, old)
		}
		return nil
	})
}

// RenameAll implements filesystem.FileSystem. It renames one after the other.
func (f *FS) RenameAll(ctx context.Context, moves []filesystem.Move) error {
	for _, m := range moves {
		if err := f.Rename(ctx, m.From, m.To); err != nil {
			return err
		}
	}
	return nil
}

// Mkdir implements filesystem.FileSystem. Of two callers, only one succeeds.
func (f *FS) Mkdir(_ context.Context, dir string) error {
	return f.call("Mkdir", dir, func(p string) error {
		if _, ok := f.entries[p]; ok {
			return fs.ErrExist
		}
		if parent, ok := f.entries[path.Dir(p)]; !ok || !parent.dir {
			return fs.ErrNotExist
		}
		f.entries[p] = &entry{dir: true, mod: f.tick()}
		return nil
	})
}

// MkdirAll implements filesystem.FileSystem.
func (f *FS) MkdirAll(_ context.Context, dir string) error {
	return f.call("MkdirAll", dir, func(p string) error {
		f.mkdirAll(p)
		return nil
	})
}

// RemoveAll implements filesystem.FileSystem.
func (f *FS) RemoveAll(_ context.Context, uri string) error {
	return f.call("RemoveAll", uri, func(p string) error {
		for _, old := range append(f.below(p), p) {
			if e, ok := f.entries[old]; ok && old != "/" {
				e.removed = true
				delete(f.entries, old)
			}
		}
		return nil
	})
}

// Remove implements filesystem.FileSystem.
func (f *FS) Remove(_ context.Context, uri string) error {
	return f.call("Remove", uri, func(p string) error {
		if len(f.below(p)) > 0 {
			return filesystem.ErrNotEmpty
		}
		if e, ok := f.entries[p]; ok {
			e.removed = true
			delete(f.entries, p)
		}
		return nil
	})
}

// call does the work of a method. It calls the fault function before and after.
func (f *FS) call(op, uri string, work func(path string) error) error {
	qualified, err := f.Qualify(uri)
	if err != nil {
		return err
	}
	if err := f.fault(Call{Op: op, URI: qualified}); err != nil {
		return err
	}
	f.mu.Lock()
	err = work(strings.TrimPrefix(qualified, scheme))
	f.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s %s: %w", strings.ToLower(op), qualified, err)
	}
	return f.fault(Call{Op: op, URI: qualified, Done: true})
}

func (f *FS) fault(c Call) error {
	if f.Fault == nil {
		return nil
	}
	return f.Fault(c)
}

func (t *tree) mkdirAll(p string) {
	for ; ; p = path.Dir(p) {
		if _, ok := t.entries[p]; ok {
			return
		}
		t.entries[p] = &entry{dir: true, mod: t.tick()}
	}
}

// below returns the paths under a directory, sorted.
func (t *tree) below(dir string) []string {
	var paths []string
	for p := range t.entries {
		if p != dir && strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/") {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

func (t *tree) tick() int64 {
	t.clock++
	return t.clock
}

func (e *entry) info(p string) filesystem.FileInfo {
	return filesystem.FileInfo{URI: scheme + p, Size: int64(len(e.data)), ModTime: time.UnixMilli(e.mod), IsDir: e.dir}
}

func clean(p string) string { return path.Clean("/" + p) }
