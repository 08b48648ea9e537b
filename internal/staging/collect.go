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

// ErrUnclear says that it is not known whether an application still needs its files.
var ErrUnclear = errors.New("it is not known whether the application still runs")

// Collection configures Collect.
type Collection struct {
	// Over reports whether an application will never need its files again. Collect calls it once
	// for each application whose directory is at least MinAge old. An application for which it
	// returns ErrUnclear keeps its files.
	Over   func(ctx context.Context, application string) (bool, error)
	MinAge time.Duration // younger files may belong to a submission that runs
	// Keep is how many bytes of unused files stay in the cache, the newest first.
	Keep   int64
	DryRun bool // remove nothing
	Now    time.Time
}

// Removed is a directory that Collect has removed, or would remove.
type Removed struct {
	URI   string
	Bytes int64
	Time  time.Time // when it was written
}

// Collect removes the files of ended applications: their directories, and the files of the cache
// that only they used. Files in any other application's refs stay. If it fails, it also returns
// what it removed before. After ErrUnclear it continues, and returns that error at the end.
func (a *Area) Collect(ctx context.Context, c Collection) ([]Removed, error) {
	var removed []Removed
	var odd oddities
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
			if over, err = c.Over(ctx, application); odd.note(err) {
				over, err = false, nil
			}
		}
		switch {
		case err != nil:
		case over:
			var one Removed
			if one, err = a.collectApplication(ctx, c, dir); err == nil {
				removed = append(removed, one)
			}
		default:
			err = a.refs(ctx, dir.URI, used)
		}
		if err != nil {
			return removed, odd.with(err)
		}
	}
	cached, err := a.collectCache(ctx, c, used)
	return append(removed, cached...), odd.with(err)
}

// CollectBelow removes the directories of ended applications in another place than an area, which several
// users may share: those that belong to the user, and have an application's id as their name. It does so by
// the rules of Collect.
func CollectBelow(ctx context.Context, fsys FileSystem, dir string, c Collection) ([]Removed, error) {
	var removed []Removed
	var odd oddities
	a := &Area{fs: fsys, root: dir}
	entries, err := a.list(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if !entry.IsDir || !strings.HasPrefix(path.Base(entry.URI), "application_") || c.Now.Sub(entry.ModTime) < c.MinAge {
			continue
		}
		status, err := fsys.Status(ctx, entry.URI)
		over := false
		if err == nil && status.Own {
			over, err = c.Over(ctx, path.Base(entry.URI))
		}
		var one Removed
		switch {
		case odd.note(err), errors.Is(err, fs.ErrNotExist): // or the application has removed it meanwhile
			continue
		case err == nil && over:
			one, err = a.collectApplication(ctx, c, entry)
		case err == nil:
			continue
		}
		if err != nil {
			return removed, odd.with(err)
		}
		removed = append(removed, one)
	}
	return removed, odd.with(nil)
}

// oddities counts the ErrUnclear errors and keeps the first one.
type oddities struct {
	first error
	more  int
}

// note reports whether err is an ErrUnclear, and counts it.
func (o *oddities) note(err error) bool {
	switch {
	case !errors.Is(err, ErrUnclear):
		return false
	case o.first == nil:
		o.first = err
	default:
		o.more++
	}
	return true
}

// with joins these errors and err.
func (o *oddities) with(err error) error {
	if o.more > 0 {
		return errors.Join(o.first, fmt.Errorf("%d more applications stay for the same reason", o.more), err)
	}
	return errors.Join(o.first, err)
}

// collectApplication removes the directory of an application.
func (a *Area) collectApplication(ctx context.Context, c Collection, dir filesystem.FileInfo) (Removed, error) {
	size, err := a.size(ctx, dir.URI)
	if err == nil && !c.DryRun {
		if err = a.removeStorage(ctx, dir.URI); err == nil {
			err = a.fs.RemoveAll(ctx, dir.URI)
		}
	}
	if err != nil {
		return Removed{}, fmt.Errorf("remove the staged files of %s: %w", path.Base(dir.URI), err)
	}
	return Removed{dir.URI, size, dir.ModTime}, nil
}

// collectCache removes entries that no application uses, except the newest.
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
		if aside == "" && size > 0 && kept+size <= c.Keep { // an empty entry is of an upload that has failed
			kept += size
			continue
		}
		gone := true
		switch {
		case c.DryRun:
		case aside == "":
			gone, err = a.evict(ctx, sha256)
		default: // the process that put it aside has died, or is about to check whether it is used
			gone, err = a.dispose(ctx, entry.URI, sha256)
		}
		if err != nil {
			return removed, fmt.Errorf("remove %s from the cache: %w", entry.URI, err)
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

// size returns the size of the files in a directory, and in those below it.
func (a *Area) size(ctx context.Context, dir string) (int64, error) {
	files, err := a.list(ctx, dir)
	sum := int64(0)
	for _, f := range files {
		size := f.Size
		if f.IsDir && err == nil {
			size, err = a.size(ctx, f.URI)
		}
		sum += size
	}
	return sum, err
}
