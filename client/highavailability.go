package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/ids"
	"github.com/bobbin-yarn/bobbin/internal/staging"
)

// StorageDir is the URI of the directory in which each application has its directory of package ha:
// high-availability.storageDir. "" is the default: that directory is the one with the application's staged files.
func StorageDir(files homeFiles, configured string) (string, error) {
	if configured == "" {
		return "", nil
	}
	dir, err := files.Qualify(configured)
	if err != nil { // a file system that is not supported, such as viewfs
		return "", fmt.Errorf("%s: %w: %w", config.HighAvailabilityStorageDir, ha.ErrStorage, err)
	}
	return strings.TrimSuffix(dir, "/"), nil
}

// CheckStorageDir refuses a StorageDir where other users may replace the directory of an application. The error is
// staging.ErrExposed.
func CheckStorageDir(ctx context.Context, files *dfs.FS, dir string) error {
	above, err := files.Status(ctx, dir)
	if err != nil {
		return err
	}
	return staging.Replaceable(above)
}

// keep stages what the first attempt needs to lead. It first checks whether the file system can hold it.
func (app *Application) keep(ctx context.Context, p *plan) error {
	if !p.available {
		return nil
	}
	app.stored = app.dir
	files := app.c.Files
	if p.storage != "" {
		app.stored = p.storage + "/" + app.ID.String()
		if err := app.staged.PutStorage(ctx, app.stored); err != nil { // who cleans the staging area must find what a session holds
			return err
		}
		if err := files.MkdirAllMode(ctx, app.stored, 0o700); err != nil {
			return app.unkept(p, err)
		}
		if err := CheckStorageDir(ctx, files, p.storage); err != nil {
			return app.unkept(p, err)
		}
	}
	if err := ha.CheckStorage(ctx, files, app.stored, ids.Source{}); err != nil {
		return app.unkept(p, err)
	}
	return app.unkept(p, ha.Stage(ctx, files, app.stored))
}

// unkept explains an error of keep.
func (app *Application) unkept(p *plan, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission) && p.storage != "":
		return fmt.Errorf("%w: create the directory %s for user %s, or name another (%s)", err, p.storage, app.User, config.HighAvailabilityStorageDir)
	case errors.Is(err, staging.ErrExposed):
		return fmt.Errorf("%w; or name another directory (%s)", err, config.HighAvailabilityStorageDir)
	}
	return err
}

// discard removes what was staged for the application.
func (app *Application) discard(ctx context.Context) error {
	err := app.staged.Discard(ctx)
	if app.stored != "" && app.stored != app.dir {
		err = errors.Join(err, app.c.Files.RemoveAll(ctx, app.stored))
	}
	return err
}

// ownStored refuses a file below an application's directory of package ha that another user could have put there.
func ownStored(ctx context.Context, files *dfs.FS, dir, name string) error {
	application := path.Base(dir)
	above := strings.TrimSuffix(dir, "/"+application)
	if path.Base(above) == staging.DirName {
		return staging.Own(ctx, files, dir, name)
	}
	return staging.OwnBelow(ctx, files, above, application+"/"+name)
}
