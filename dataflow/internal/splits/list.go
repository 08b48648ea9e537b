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
)

// file is one that is to be read. There may be a million.
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

// list gives the files that one input names: one file or directory that exists under exactly
// this name, or else what the matches of a glob name.
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

// directory gives the files of a directory that are data, or a file that is named itself;
// fs.ErrNotExist where there was nothing from the first.
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

// take checks files and gives what is kept of them. Of those that have the same rights one tells
// for all whether they may be read: rights are those for which one has, in their directory.
func (l *lister) take(ctx context.Context, part []filesystem.Entry, rights map[string]bool) ([]file, error) {
	files := make([]file, 0, len(part))
	var ask []string // URIs
	for _, e := range part {
		switch suffix := strings.ToLower(path.Ext(e.URI)); {
		case slices.Contains(compressed, suffix):
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

// vanished gives the error of asking for something that was found. Where that is gone, the error is
// not fs.ErrNotExist: it must not pass for an alternative of a pattern that names nothing.
func vanished(uri string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return fmt.Errorf("input %s %w (%s)", uri, ErrVanished, err.Error())
}

// shared gives blocks whose hosts are those of other blocks, too, where they are the same.
func (l *lister) shared(blocks []filesystem.Block) []filesystem.Block {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range blocks {
		hosts := blocks[i].Hosts
		if len(hosts) == 0 {
			continue
		}
		key := strings.Join(hosts, " ") // which no host's name has
		if _, known := l.hosts[key]; !known {
			l.hosts[key] = hosts
		}
		blocks[i].Hosts = l.hosts[key]
	}
	return blocks
}

// compressed are the endings by which Hadoop's codecs and common tools name
// their files.
var compressed = []string{".gz", ".bz2", ".zst", ".snappy", ".lz4", ".deflate", ".xz", ".lzo", ".z"}

// hidden tells files that programs keep beside data, by Hadoop's convention.
func hidden(name string) bool { return strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") }
