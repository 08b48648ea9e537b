package staging

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// storageFile is a file in an application's directory. It names the directory with what outlives the application's
// leader, if that is not the application's directory itself (high-availability.storageDir).
const storageFile = "storage"

// maxStorage bounds the length of a directory's URI, in bytes. HDFS accepts paths of 8,000 characters.
const maxStorage = 32 << 10

// PutStorage records where the application keeps what outlives its leader. If that is the application's directory, it
// records nothing.
func (app *Application) PutStorage(ctx context.Context, dir string) error {
	if dir == app.Dir {
		return nil
	}
	return app.Put(ctx, storageFile, []byte(dir+"\n"))
}

// Storage returns where the application with this directory (Dir) keeps what outlives its leader, for a client that asks
// the leader. The error is ErrExposed if another user could have named the place.
func Storage(ctx context.Context, fsys FileSystem, dir string) (string, error) {
	err := Own(ctx, fsys, dir, storageFile)
	if errors.Is(err, fs.ErrNotExist) {
		return dir, nil
	}
	if err != nil {
		return "", err
	}
	return areaOf(fsys, dir).storage(ctx, dir)
}

// storage returns where the application with this directory keeps what outlives its leader.
func (a *Area) storage(ctx context.Context, dir string) (string, error) {
	content, _, err := a.fs.Load(ctx, dir+"/"+storageFile, maxStorage)
	if errors.Is(err, fs.ErrNotExist) {
		return dir, nil
	}
	return strings.TrimSuffix(string(content), "\n"), err
}

// Sweep removes the directory of an ended application (Dir), and what outlives its leader. It leaves the cache to Collect.
func Sweep(ctx context.Context, fsys FileSystem, dir string) error {
	err := areaOf(fsys, dir).removeStorage(ctx, dir)
	if err == nil { // otherwise nothing would name what is left
		err = fsys.RemoveAll(ctx, dir)
	}
	if err != nil {
		return fmt.Errorf("remove the files of %s: %w", path.Base(dir), err)
	}
	return nil
}

// removeStorage removes what outlives the leader of an application, if that lies elsewhere. A directory that does not have
// the application's name is not removed: nobody but this package writes the file that names it, but a mistake would cost
// more than files that stay.
func (a *Area) removeStorage(ctx context.Context, dir string) error {
	storage, err := a.storage(ctx, dir)
	if err != nil || storage == dir || path.Base(storage) != path.Base(dir) {
		return err
	}
	return a.fs.RemoveAll(ctx, storage)
}
