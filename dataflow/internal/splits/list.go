package splits

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/dataflow/internal/compress"
)

// file is an input file. A job may have a million of them.
type file struct {
	uri     string
	size    int64 // bytes
	modTime int64 // in ms since 1970
	blocks  []filesystem.Block
}

// lister lists inputs. Its methods may be called from any goroutine.
type lister struct {
	fs     filesystem.FileSystem
	listed func(more int)

	mu    sync.Mutex // guards hosts
	hosts map[string][]string
}

func newLister(fsys filesystem.FileSystem, listed func(int)) *lister {
	return &lister{fs: fsys, listed: listed, hosts: make(map[string][]string)}
}

// list returns the files that one input names. If a file or directory with exactly this name
// exists, list takes it. Otherwise list treats the input as a glob.
func (l *lister) list(ctx context.Context, input string) ([]file, error) {
	uri, err := l.fs.Qualify(input)
	if err != nil {
		return nil, err
	}
	files, err := l.directory(ctx, uri)
	if !errors.Is(err, fs.ErrNotExist) || !strings.ContainsAny(input, `*?[{\`) {
		return files, err
	}
	return l.glob(ctx, uri)
}

// directory returns the data files of a directory, or the file if uri is one. The error is
// fs.ErrNotExist only if uri did not exist at the first call.
func (l *lister) directory(ctx context.Context, uri string) ([]file, error) {
	var files []file
	found := false
	rights := make(map[string]bool)
	err := l.fs.Scan(ctx, uri, func(part []filesystem.Entry) error {
		found = true
		part = slices.DeleteFunc(part, func(e filesystem.Entry) bool {
			return e.IsDir || e.URI != uri && hidden(path.Base(e.URI))
		})
		taken, err := l.take(ctx, part, rights)
		files = append(files, taken...)
		return err
	})
	if found {
		err = vanished(uri, err)
	}
	return files, err
}

// take checks files and returns them. Files of one directory with the same rights are readable by
// the same users, so take asks about only one of them. rights holds the rights for which it has
// asked in this directory.
func (l *lister) take(ctx context.Context, part []filesystem.Entry, rights map[string]bool) ([]file, error) {
	files := make([]file, 0, len(part))
	var ask []string // URIs
	for _, e := range part {
		switch {
		case compress.Unreadable(e.URI):
			return nil, fmt.Errorf("%w (%s)", ErrCompressed, e.URI)
		case e.Refused != nil:
			return nil, refused(e.URI, e.Refused)
		}
		if e.Rights == "" || !rights[e.Rights] {
			rights[e.Rights] = true
			ask = append(ask, e.URI)
		}
		files = append(files, file{uri: e.URI, size: e.Size, modTime: e.ModTime.UnixMilli(), blocks: l.shared(e.Blocks)})
	}
	err := parallel(ctx, len(ask), func(ctx context.Context, i int) error {
		switch err := l.fs.CheckReadable(ctx, ask[i]); {
		case errors.Is(err, fs.ErrNotExist):
			return vanished(ask[i], err)
		case err != nil:
			return refused(ask[i], err)
		}
		return nil
	})
	l.listed(len(files))
	return files, err
}

// ErrVanished says that a file or a directory was removed during the listing.
var ErrVanished = errors.New("vanished during the listing: run the job again")

// vanished returns the error of a call about a file that was found before. If the file is gone, the
// error is not fs.ErrNotExist, which would mean that an alternative of a pattern matches nothing.
func vanished(uri string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("input %s %w (%s)", uri, ErrVanished, err.Error())
}

// shared lets blocks with the same hosts share one slice of hosts, to save memory.
func (l *lister) shared(blocks []filesystem.Block) []filesystem.Block {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range blocks {
		hosts := blocks[i].Hosts
		if len(hosts) == 0 {
			continue
		}
		key := strings.Join(hosts, " ") // no host's name has a space
		if _, known := l.hosts[key]; !known {
			l.hosts[key] = hosts
		}
		blocks[i].Hosts = l.hosts[key]
	}
	return blocks
}

// hidden reports whether a file is not data, by Hadoop's convention for names.
func hidden(name string) bool { return strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") }
