package dfs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strconv"
	"syscall"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
)

// local is the disk of this machine. A context does not interrupt its calls, because it cannot
// interrupt those of the operating system.
type local struct{}

func (local) stat(_ context.Context, path string) (entry, error) {
	info, err := os.Stat(path)
	if err != nil {
		return entry{}, err
	}
	return localEntry(info), nil
}

func localEntry(info fs.FileInfo) entry {
	e := entry{name: info.Name(), size: info.Size(), modTime: info.ModTime(), isDir: info.IsDir(), mode: info.Mode() & (fs.ModePerm | fs.ModeSticky)}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		e.ownedBy = strconv.FormatUint(uint64(stat.Uid), 10)
	}
	return e
}

// owner returns the user's number if this machine knows no name for it.
func (local) owner(e entry) (name string, own bool) {
	own = e.ownedBy == strconv.Itoa(os.Geteuid())
	if known, err := user.LookupId(e.ownedBy); err == nil {
		return known.Username, own
	}
	return e.ownedBy, own
}

// list follows symbolic links, as stat does. It leaves out links without a target.
func (l local) list(ctx context.Context, dir string) ([]entry, error) {
	found, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	entries := make([]entry, 0, len(found))
	for _, d := range found {
		e, err := l.stat(ctx, dir+"/"+d.Name())
		if errors.Is(err, fs.ErrNotExist) { // removed since, or a broken link
			continue
		}
		if err != nil {
			return nil, err
		}
		e.name = d.Name()
		entries = append(entries, e)
	}
	return entries, nil
}

// scanPart is the number of entries in a part of a local directory.
const scanPart = 1000

func (l local) scan(ctx context.Context, path string, part func([]entry) error) error {
	self, err := l.stat(ctx, path)
	if err != nil {
		return err
	}
	entries := []entry{self}
	if self.isDir {
		if entries, err = l.list(ctx, path); err != nil {
			return err
		}
	} else {
		entries[0].name = ""
	}
	for found := range slices.Chunk(entries, scanPart) {
		for i := range found {
			if size := found[i].size; size > 0 && !found[i].isDir {
				found[i].blocks = []filesystem.Block{{Length: size}}
			}
		}
		if err := part(found); err != nil {
			return err
		}
	}
	return nil
}

func (l local) checkReadable(ctx context.Context, path string) error {
	file, _, err := l.open(ctx, path)
	if err != nil {
		return err
	}
	return file.Close()
}

func (local) open(_ context.Context, path string) (io.ReadSeekCloser, entry, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, entry{}, err
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = errIsDirectory
	}
	if err != nil {
		return nil, entry{}, errors.Join(err, file.Close())
	}
	return file, localEntry(info), nil
}

func (l local) load(ctx context.Context, path string, limit int64) ([]byte, entry, error) {
	file, e, err := l.open(ctx, path)
	if err != nil {
		return nil, entry{}, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = filesystem.ErrTooLarge
	}
	if err != nil {
		return nil, entry{}, err
	}
	return content, e, nil
}

func (local) create(_ context.Context, path string, o CreateOptions) (io.WriteCloser, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, o.Mode)
}

func (local) rename(_ context.Context, from, to string) error {
	if _, err := os.Lstat(to); err == nil {
		return fs.ErrExist
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := os.Rename(from, to)
	if linkError, ok := errors.AsType[*os.LinkError](err); ok { // LinkError repeats the paths
		return linkError.Err
	}
	return err
}

func (local) mkdir(_ context.Context, dir string, mode fs.FileMode) error { return os.Mkdir(dir, mode) }

func (local) mkdirAll(_ context.Context, dir string, mode fs.FileMode) error {
	return os.MkdirAll(dir, mode)
}

func (local) remove(_ context.Context, path string) error {
	err := os.Remove(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, syscall.ENOTEMPTY):
		return filesystem.ErrNotEmpty
	default:
		return err
	}
}

func (local) replicate(context.Context, string) error { return nil }

func (local) removeAll(_ context.Context, path string) error { return os.RemoveAll(path) }
