package staging

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// maxRefs bounds a refs file, in bytes: 16,000 entries.
const maxRefs = 1 << 20

// errTooManyRefs is a refs file that is longer. What it names cannot be told, and nothing is evicted.
var errTooManyRefs = fmt.Errorf("it is longer than %d bytes", maxRefs)

// Discard removes what the submission has staged: its directory, and the cache
// entries that it wrote and that no other application refers to. It may be
// called again after an error.
func (app *Application) Discard(ctx context.Context) error {
	errs := []error{app.area.fs.RemoveAll(ctx, app.Dir)}
	for _, sha256 := range app.uploaded {
		_, err := app.area.evict(ctx, sha256)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove staged files: %w", err)
	}
	return nil
}

// evict removes an entry of the cache unless an application refers to it, and tells
// whether it is gone. The entry is first renamed away: an application that looks for
// it from then on stages it again, and one that found it before has written its refs
// before it looked, so the second reading of refs sees it and the entry goes back as
// it was.
func (a *Area) evict(ctx context.Context, sha256 string) (gone bool, err error) {
	used, err := a.referred(ctx, sha256)
	if err != nil || used {
		return false, err
	}
	away := a.entry(sha256) + "." + ids.Random()
	if err := a.fs.Rename(ctx, a.entry(sha256), away); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return true, nil
		}
		return false, err
	}
	return a.dispose(ctx, away, sha256)
}

// dispose removes an entry of the cache that has been renamed away, or gives it back its
// place if an application refers to it, and tells whether it is gone. Several may do so
// at once: what one of them has given back or removed, the others don't find.
func (a *Area) dispose(ctx context.Context, away, sha256 string) (gone bool, err error) {
	used, err := a.referred(ctx, sha256)
	if err == nil && !used {
		return true, a.fs.RemoveAll(ctx, away)
	}
	back := a.fs.Rename(ctx, away, a.entry(sha256))
	switch {
	case errors.Is(back, fs.ErrNotExist):
		back = nil
	case errors.Is(back, fs.ErrExist): // staged again meanwhile
		back = a.fs.RemoveAll(ctx, away)
	}
	return false, errors.Join(err, back)
}

// referred tells whether any application's refs names the entry.
func (a *Area) referred(ctx context.Context, sha256 string) (bool, error) {
	entries, err := a.fs.List(ctx, a.root)
	if err != nil {
		return false, err
	}
	for _, entry := range entries {
		if !entry.IsDir || !strings.Contains(entry.URI, "/application_") {
			continue
		}
		used := make(map[string]bool)
		if err := a.refs(ctx, entry.URI, used); err != nil || used[sha256] {
			return used[sha256], err
		}
	}
	return false, nil
}

// refs adds the hashes of the entries of the cache that an application uses.
func (a *Area) refs(ctx context.Context, dir string, used map[string]bool) error {
	held, err := (&Running{area: a, dir: dir}).Holds(ctx)
	if err != nil {
		return err
	}
	for _, sha256 := range held {
		used[sha256] = true
	}
	file, err := a.fs.Open(ctx, dir+"/"+launch.RefsFile)
	if errors.Is(err, fs.ErrNotExist) { // ended meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close() // read only: nothing to lose
	named, err := parseRefs(file)
	if err != nil {
		if _, gone := a.fs.Stat(ctx, dir); errors.Is(gone, fs.ErrNotExist) { // ended while it was read
			return nil
		}
		return fmt.Errorf("read %s/%s: %w", dir, launch.RefsFile, err)
	}
	for _, sha256 := range named {
		used[sha256] = true
	}
	return nil
}

// parseRefs reads the hashes that a refs file names, one a line. One that is read only in part would
// have entries evicted that are in use.
func parseRefs(file io.Reader) ([]string, error) {
	content, err := io.ReadAll(io.LimitReader(file, maxRefs+1))
	if err == nil && len(content) > maxRefs {
		err = errTooManyRefs
	}
	if err != nil {
		return nil, err
	}
	return strings.Fields(string(content)), nil
}
