package staging

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// maxRefs bounds a refs file, in bytes: 16,000 entries.
const maxRefs = 1 << 20

// errTooManyRefs says that a refs file is too long. Its entries are then unknown, so none is
// evicted.
var errTooManyRefs = fmt.Errorf("it is longer than %d bytes", maxRefs)

// Discard removes the staged files of a submission: its directory, what outlives its leader, and the cache entries that
// it wrote and no other application refers to. After an error it may be called again.
func (app *Application) Discard(ctx context.Context) error {
	errs := []error{Sweep(ctx, app.area.fs, app.Dir)}
	for _, sha256 := range app.uploaded {
		_, err := app.area.evict(ctx, sha256)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove staged files: %w", err)
	}
	return nil
}

// evict removes an entry of the cache unless an application refers to it, and reports whether the
// entry is gone. It first renames the entry. An application that looks for it after that stages it
// again. An application that found it before had written its refs before it looked. The second
// reading of refs sees those, and the entry gets its name back, unchanged.
func (a *Area) evict(ctx context.Context, sha256 string) (gone bool, err error) {
	used, err := a.referred(ctx, sha256)
	if err != nil || used {
		return false, err
	}
	away := a.entry(sha256) + "." + a.Names.Random()
	if err := a.fs.Rename(ctx, a.entry(sha256), away); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return true, nil
		}
		return false, err
	}
	return a.dispose(ctx, away, sha256)
}

// dispose removes a renamed entry of the cache, or gives it back its name if an application refers
// to it, and reports whether the entry is gone. Several processes may do so at once: each finds
// only the entries that the others have neither restored nor removed.
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

// referred reports whether any application's refs names the entry.
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

// refs adds the hashes of the cache entries that an application uses.
func (a *Area) refs(ctx context.Context, dir string, used map[string]bool) error {
	if err := a.held(ctx, dir, used); err != nil {
		return err
	}
	file, err := a.fs.Open(ctx, dir+"/"+launch.RefsFile)
	if errors.Is(err, fs.ErrNotExist) { // the application has ended meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close() // read only: nothing to lose
	named, err := parseRefs(file)
	if err != nil {
		if _, gone := a.fs.Stat(ctx, dir); errors.Is(gone, fs.ErrNotExist) { // the application has ended meanwhile
			return nil
		}
		return fmt.Errorf("read %s/%s: %w", dir, launch.RefsFile, err)
	}
	for _, sha256 := range named {
		used[sha256] = true
	}
	return nil
}

// parseRefs reads the hashes in a refs file, one for each line. It never returns a part of them,
// because entries in use would then be evicted.
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
