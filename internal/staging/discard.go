package staging

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/launch"
)

// maxRefs bounds what is read of a refs file, in bytes.
const maxRefs = 1 << 20

// Discard removes what the submission has staged: its directory, and the cache
// entries that it wrote and that no other application refers to. It may be
// called again after an error.
func (app *Application) Discard(ctx context.Context) error {
	errs := []error{app.area.fs.RemoveAll(ctx, app.Dir)}
	for _, sha256 := range app.uploaded {
		errs = append(errs, app.area.evict(ctx, sha256))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove staged files: %w", err)
	}
	return nil
}

// evict removes an entry of the cache unless an application refers to it. The
// entry is first renamed away: an application that looks for it from then on
// stages it again, and one that found it before has written its refs before it
// looked, so the second reading of refs sees it and the entry goes back as it
// was.
func (a *Area) evict(ctx context.Context, sha256 string) error {
	used, err := a.referred(ctx, sha256)
	if err != nil || used {
		return err
	}
	away := a.entry(sha256) + "." + ids.Random()
	if err := a.fs.Rename(ctx, a.entry(sha256), away); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	used, err = a.referred(ctx, sha256)
	if err != nil || used {
		return errors.Join(err, a.fs.Rename(ctx, away, a.entry(sha256)))
	}
	return a.fs.RemoveAll(ctx, away)
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
		found, err := a.names(ctx, entry.URI+"/"+launch.RefsFile, sha256)
		if err == nil && !found {
			found, err = a.holds(ctx, entry.URI, sha256)
		}
		if err != nil || found {
			return found, err
		}
	}
	return false, nil
}

func (a *Area) names(ctx context.Context, refs, sha256 string) (bool, error) {
	file, err := a.fs.Open(ctx, refs)
	if errors.Is(err, fs.ErrNotExist) { // ended meanwhile
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close() // read only: nothing to lose
	lines := bufio.NewScanner(io.LimitReader(file, maxRefs))
	for lines.Scan() {
		if lines.Text() == sha256 {
			return true, nil
		}
	}
	return false, lines.Err()
}
