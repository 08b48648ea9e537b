package staging

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/ha"
)

// heldTries is how often held looks again because a new leader has renamed the directory of its term meanwhile.
const heldTries = 10

// errMoving says that the records of an application could not be read, so nothing is evicted.
var errMoving = errors.New("each time its records are read, another ApplicationMaster has begun to lead it")

// held adds the hashes of the cache entries that an application has begun to use while it runs. It costs three calls for
// an application that holds nothing.
func (a *Area) held(ctx context.Context, dir string, used map[string]bool) error {
	for range heldTries {
		moved, err := a.heldNow(ctx, dir, used)
		if err != nil {
			return fmt.Errorf("look what %s holds in the cache: %w", path.Base(dir), err)
		}
		if !moved {
			return nil
		}
	}
	return fmt.Errorf("look what %s holds in the cache: %w", path.Base(dir), errMoving)
}

// heldNow reads the records in the application's directory, and those of its leader's term. moved says that it must look
// again. A record that is there all the time is in the directory of one term, whose name no other term has. So it is found
// if that directory is there when its records are listed.
func (a *Area) heldNow(ctx context.Context, dir string, used map[string]bool) (moved bool, err error) {
	entries, err := a.list(ctx, dir)
	if err == nil {
		moved, err = a.recorded(ctx, entries, used)
	}
	if err != nil || moved {
		return moved, err
	}
	if has(entries, storageFile) {
		storage, err := a.storage(ctx, dir)
		if err != nil {
			return false, err
		}
		if entries, err = a.list(ctx, storage); err != nil {
			return false, err
		}
	}
	live, is := ha.Newest(entries)
	if !is { // it has no high availability, or its files are being removed
		return false, nil
	}
	entries, err = a.fs.List(ctx, live.Dir)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist), ignoreMissing(err)
	}
	return a.recorded(ctx, entries, used)
}

// recorded adds the hashes of the records in a directory with these entries. moved says that the directory is gone.
func (a *Area) recorded(ctx context.Context, entries []filesystem.FileInfo, used map[string]bool) (moved bool, err error) {
	for _, e := range entries {
		if name := path.Base(e.URI); name != heldDir && name != heldFilesDir {
			continue
		}
		records, err := a.fs.List(ctx, e.URI)
		if err != nil {
			return errors.Is(err, fs.ErrNotExist), ignoreMissing(err)
		}
		for _, r := range records {
			used[path.Base(r.URI)] = true
		}
	}
	return false, nil
}

func has(entries []filesystem.FileInfo, name string) bool {
	for _, e := range entries {
		if path.Base(e.URI) == name {
			return true
		}
	}
	return false
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
