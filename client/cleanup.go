package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path"
	"syscall"
	"time"

	"github.com/bobbin-yarn/bobbin/dataflow/filesystem"
	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/staging"
	"github.com/bobbin-yarn/bobbin/yarnrpc"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
)

// dialTimeout bounds the check whether an ApplicationMaster that YARN does not know is alive.
const dialTimeout = 2 * time.Second

// Collect removes what the user's ended applications, and those that YARN has forgotten, have left in the
// staging area. It also removes files of the cache that no other application uses, as staging.cache.max-size
// and staging.gc.min-age say. With dryRun it removes nothing and returns the same list. An application that
// YARN does not know stays if its ApplicationMaster answers: it runs on another cluster with the same file
// system. An application whose ApplicationMaster cannot be asked stays, too, with an error that wraps
// staging.ErrUnclear; Collect still removes all others. The staging area and high-availability.storageDir are those of
// the Cluster's options.
func (c *Cluster) Collect(ctx context.Context, cfg config.Config, dryRun bool) ([]staging.Removed, error) {
	home, err := c.home()
	if err != nil {
		return nil, err
	}
	rules := staging.Collection{
		Over: func(ctx context.Context, application string) (bool, error) {
			return c.over(ctx, staging.Dir(home, application), c.access)
		},
		MinAge: cfg.Duration(config.StagingMinAge),
		Keep:   int64(cfg.Memory(config.StagingCacheSize)),
		DryRun: dryRun,
		Now:    time.Now(),
	}
	removed, err := staging.New(c.Files, home, 0).Collect(ctx, rules)
	if err != nil && !errors.Is(err, staging.ErrUnclear) {
		return removed, err
	}
	storage, unknown := StorageDir(c.Files, c.storage)
	if unknown != nil && config.HighAvailability(cfg) {
		return removed, errors.Join(err, unknown)
	}
	if storage == "" { // or it can hold nothing
		return removed, err
	}
	rules.Over = func(ctx context.Context, application string) (bool, error) { // its staging area may be another one
		return c.over(ctx, storage+"/"+application, c.storedAccess)
	}
	stored, other := staging.CollectBelow(ctx, c.Files, storage, rules)
	return append(removed, stored...), errors.Join(err, other)
}

// over tells whether the application with a directory has ended. find finds its
// ApplicationMaster from there.
func (c *Cluster) over(ctx context.Context, dir string, find func(context.Context, string) (launch.Access, bool, error)) (bool, error) {
	application := path.Base(dir)
	id, err := records.ParseApplicationID(application)
	if err != nil {
		return false, nil //nolint:nilerr // not a directory of ours
	}
	report, err := c.YARN.ApplicationReport(ctx, id)
	if !errors.Is(err, yarnrpc.ErrApplicationNotFound) {
		return report.State.Terminal(), err
	}
	access, stored, err := find(ctx, dir)
	_, cut := errors.AsType[*json.SyntaxError](err)
	switch {
	case cut: // its ApplicationMaster died while it wrote the file
		return true, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, ha.ErrNothing), errors.Is(err, errNeverLed), errors.Is(err, ErrEnding): // it has never run, or has ended
		return true, nil
	case errors.Is(err, staging.ErrExposed): // its text has the remedy
		return false, fmt.Errorf("%s stays, as %w: %w", application, staging.ErrUnclear, err)
	case errors.Is(err, ErrReplacing):
		return false, fmt.Errorf("%s stays, as %w: %v: remove %s if it does not", application, staging.ErrUnclear, err, dir) //nolint:errorlint // a second try would not help
	case errors.Is(err, ErrNoAccess), errors.Is(err, fs.ErrPermission), errors.Is(err, filesystem.ErrTooLarge):
		return false, fmt.Errorf("%s stays, as %w: %w: remove %s if it does not", application, staging.ErrUnclear, err, dir)
	case err != nil:
		return false, fmt.Errorf("look for the ApplicationMaster of %s: %w", application, err)
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	connection, err := dialer.DialContext(ctx, "tcp", access.Address)
	if err == nil {
		return false, connection.Close()
	}
	switch refused := errors.Is(err, syscall.ECONNREFUSED); {
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case refused && !stored:
		return true, nil
	case refused:
		return false, fmt.Errorf("%s stays, as %w: its ApplicationMaster does not answer, and another cluster may replace it: remove %s if not", application, staging.ErrUnclear, dir)
	}
	// A node may be unreachable, or its name unknown, only from this machine.
	return false, fmt.Errorf("%s stays, as %w: %w: remove %s if it does not", application, staging.ErrUnclear, err, dir)
}

// Kill ends an application in any state, and removes its staged and stored files: a killed ApplicationMaster cannot
// do that.
func (c *Cluster) Kill(ctx context.Context, id records.ApplicationID) error {
	if err := c.YARN.Kill(ctx, id, "killed by user "+c.User); err != nil {
		return err
	}
	return c.Sweep(ctx, id)
}

// Sweep removes the staged and stored files of an ended application, if its ApplicationMaster could not.
func (c *Cluster) Sweep(ctx context.Context, id records.ApplicationID) error {
	home, err := c.home()
	if errors.Is(err, errFileSystem) { // nothing can have been staged
		return nil
	}
	if err != nil {
		return err
	}
	return staging.Sweep(ctx, c.Files, staging.Dir(home, id.String()))
}
