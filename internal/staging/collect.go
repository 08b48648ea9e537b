package staging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
)

// ErrUnclear says of an application that nobody can tell whether it still needs its files.
var ErrUnclear = errors.New("whether it still runs is not known")

// Collection says what Collect removes.
type Collection struct {
	// Over tells whether an application will never need its files again. It is asked once
	// for each whose directory is at least MinAge old. One of which it says ErrUnclear stays.
	Over   func(ctx context.Context, application string) (bool, error)
	MinAge time.Duration // what is younger may be in the making
	// Keep is how many bytes of the cache stay though no application uses them, those
	// that were written last.
	Keep   int64
	DryRun bool // remove nothing
	Now    time.Time
}

// Removed is something that Collect has removed, or would remove.
type Removed struct {
	URI   string
	Bytes int64
	Time  time.Time // when it was written
}

// Collect removes what applications have left that are over: their directories, and what
// they alone used of the cache. What any other application's refs names stays. After an
// error, what was removed until then is told, too; it goes on after ErrUnclear, and ends with that.
func (a *Area) Collect(ctx context.Context, c Collection) ([]Removed, error) {
	var removed []Removed
	var unclear []error
	used := make(map[string]bool) // hashes
	entries, err := a.list(ctx, a.root)
	if err != nil {
		return nil, err
	}
	for _, dir := range entries {
		application := path.Base(dir.URI)
		if !dir.IsDir || !strings.HasPrefix(application, "application_") {
			continue
		}
		over := c.Now.Sub(dir.ModTime) >= c.MinAge
		if over {
			over, err = c.Over(ctx, application)
			switch {
			case errors.Is(err, ErrUnclear):
				unclear = append(unclear, err)
				over = false
			case err != nil:
				return removed, err
			}
		}
		if !over {
			if err := a.refs(ctx, dir.URI, used); err != nil {
				return removed, err
			}
			continue
		}
		size, err := a.size(ctx, dir.URI)
		if err == nil && !c.DryRun {
			err = a.fs.RemoveAll(ctx, dir.URI)
		}
		if err != nil {
			return removed, fmt.Errorf("remove what is staged for %s: %w", application, err)
		}
		removed = append(removed, Removed{dir.URI, size, dir.ModTime})
	}
	cached, err := a.collectCache(ctx, c, used)
	return append(removed, cached...), errors.Join(append(unclear, err)...)
}

// collectCache removes entries that nobody uses, but for the newest.
func (a *Area) collectCache(ctx context.Context, c Collection, used map[string]bool) ([]Removed, error) {
	entries, err := a.list(ctx, a.root+"/cache")
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(entries, func(x, y filesystem.FileInfo) int { return cmp.Compare(y.ModTime.UnixMilli(), x.ModTime.UnixMilli()) })
	var removed []Removed
	kept := int64(0)
	for _, entry := range entries {
		if c.Now.Sub(entry.ModTime) < c.MinAge {
			continue
		}
		sha256, aside, _ := strings.Cut(path.Base(entry.URI), ".")
		if used[sha256] && (aside == "" || c.DryRun) {
			continue
		}
		size, err := a.size(ctx, entry.URI)
		if err != nil {
			return removed, err
		}
		if aside == "" && kept+size <= c.Keep {
			kept += size
			continue
		}
		gone := true
		switch {
		case c.DryRun:
		case aside == "":
			gone, err = a.evict(ctx, sha256)
		default: // whoever put it aside has died, or is about to see whether it is used by now
			gone, err = a.dispose(ctx, entry.URI, sha256)
		}
		if err != nil {
			return removed, fmt.Errorf("remove %s of the cache: %w", entry.URI, err)
		}
		if gone {
			removed = append(removed, Removed{entry.URI, size, entry.ModTime})
		}
	}
	return removed, nil
}

// list lists a directory that may be missing.
func (a *Area) list(ctx context.Context, dir string) ([]filesystem.FileInfo, error) {
	entries, err := a.fs.List(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

// size is how much the files in a directory hold.
func (a *Area) size(ctx context.Context, dir string) (int64, error) {
	files, err := a.list(ctx, dir)
	sum := int64(0)
	for _, f := range files {
		sum += f.Size
	}
	return sum, err
}
