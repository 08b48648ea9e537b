package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/bobbin-yarn/bobbin/internal/config"
	"github.com/bobbin-yarn/bobbin/internal/dfs"
	"github.com/bobbin-yarn/bobbin/internal/ha"
	"github.com/bobbin-yarn/bobbin/internal/launch"
	"github.com/bobbin-yarn/bobbin/internal/staging"
	"github.com/bobbin-yarn/bobbin/yarnrpc/records"
	"github.com/bobbin-yarn/bobbin/yarnrpc/secretfile"
)

// maxAccess bounds the size of an access file, in bytes.
const maxAccess = 64 << 10

// Access reads what an application's ApplicationMaster has stored for its owner: with it the owner reaches the
// REST endpoint from anywhere, without YARN. The Cluster's yarn.staging-directory must be that of the application. An
// Access is a secret, and is valid for one ApplicationMaster. The error is
// ErrReplacing if no ApplicationMaster has published its address since the last one was replaced.
func (c *Cluster) Access(ctx context.Context, id records.ApplicationID) (launch.Access, error) {
	home, err := c.home()
	if err != nil {
		return launch.Access{}, err
	}
	access, _, err := c.access(ctx, staging.Dir(home, id.String()))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w; if it was staged in another directory, name that (%s)", ErrNoAccess, err, config.YarnStagingDirectory)
	}
	if err != nil {
		err = fmt.Errorf("reach %s: %w", id, err)
	}
	return access, err
}

// access reads the access file of the leader of the application with this staging directory or, of an application
// without high availability, that in the directory itself. stored tells which it is.
func (c *Cluster) access(ctx context.Context, dir string) (access launch.Access, stored bool, err error) {
	storage, err := staging.Storage(ctx, c.Files, dir)
	if err == nil {
		access, _, err = c.storedAccess(ctx, storage)
	}
	if !errors.Is(err, ha.ErrNothing) {
		return access, true, err
	}
	access, err = unprotectedAccess(ctx, c.Files, dir)
	return access, false, err
}

// storedAccess is access in an application's directory of package ha.
func (c *Cluster) storedAccess(ctx context.Context, dir string) (launch.Access, bool, error) {
	access, err := leadersAccess(ctx, c.Files, dir)
	return access, true, err
}

// unprotectedAccess reads the access file of an application without high availability. If the application's
// directory is there and the file is not, the error also is ErrReplacing.
func unprotectedAccess(ctx context.Context, files *dfs.FS, dir string) (launch.Access, error) {
	access, err := readAccess(ctx, files, dir, launch.AccessFile)
	if errors.Is(err, fs.ErrNotExist) {
		if _, gone := files.Stat(ctx, dir); gone == nil {
			err = fmt.Errorf("%w: %w", ErrReplacing, err)
		}
	}
	return access, err
}

// errNeverLed says that no attempt has led an application yet.
var errNeverLed = errors.New("no ApplicationMaster has led the application")

// accessTries is how often a leader's access file is looked for again, because the next leader has renamed the
// directory meanwhile.
const accessTries = 5

// leadersAccess reads the leader's access file in an application's directory of package ha. Its errors include
// ha.ErrNothing, ErrReplacing and ErrEnding.
func leadersAccess(ctx context.Context, files *dfs.FS, dir string) (access launch.Access, err error) {
	for range accessTries {
		live, err := ha.Find(ctx, files, dir)
		switch {
		case errors.Is(err, ha.ErrReplacing) && live.Epoch == 0:
			return access, fmt.Errorf("%w: %w", err, errNeverLed)
		case err != nil:
			return access, err
		case live.Ended:
			return access, ErrEnding
		}
		if access, err = readAccess(ctx, files, dir, path.Base(live.Dir)+"/"+launch.AccessFile); !errors.Is(err, fs.ErrNotExist) {
			return access, err
		}
	}
	return access, ErrReplacing
}

// readAccess reads an access file in an application's directory. An attacker's file would send the user's programs
// and data to the attacker. So if another user could have put the file there, the error is staging.ErrExposed. If
// the file is malformed or names another application, the error is ErrNoAccess.
func readAccess(ctx context.Context, files *dfs.FS, dir, name string) (launch.Access, error) {
	if err := ownStored(ctx, files, dir, name); err != nil {
		return launch.Access{}, err
	}
	uri := dir + "/" + name
	content, err := files.ReadFile(ctx, uri, maxAccess)
	if err != nil {
		return launch.Access{}, err
	}
	access, err := parseAccess(uri, content)
	switch {
	case err != nil:
		err = fmt.Errorf("%w: %w", ErrNoAccess, err)
	case access.Application != path.Base(dir):
		err = fmt.Errorf("%w: %s belongs to application %q", ErrNoAccess, uri, access.Application)
	}
	return access, err
}

func parseAccess(name string, content []byte) (access launch.Access, err error) {
	if err := json.Unmarshal(content, &access); err != nil {
		return access, fmt.Errorf("%s: %w", name, err)
	}
	return access, nil
}

// ReadAccess reads a copy of an Access from this machine, which WriteAccess has written. Everyone who can read
// the file has the rights of the cluster's owner, and everyone who can write it can redirect the user's jobs. So
// if other users can read or write the file, the error is secretfile.ErrExposed.
func ReadAccess(path string) (access launch.Access, err error) {
	file, err := secretfile.Open(path)
	if err != nil {
		return access, fmt.Errorf("read access file %s: %w", path, err)
	}
	defer file.Close() // read only: nothing to lose
	content, err := io.ReadAll(io.LimitReader(file, maxAccess+1))
	if err == nil && len(content) > maxAccess {
		err = fmt.Errorf("%s is too large for an access file (%s): write one with bobbin session access", path, launch.AccessFile)
	}
	if err != nil {
		return access, fmt.Errorf("read access file: %w", err)
	}
	if access, err = parseAccess(path, content); err != nil {
		return access, fmt.Errorf("read access file: %w", err)
	}
	if access.Address == "" || access.Token == "" || len(access.Authority) == 0 {
		return access, fmt.Errorf("read access file: %s is not an access file (%s): write one with bobbin session access", path, launch.AccessFile)
	}
	return access, nil
}

// WriteAccess writes a copy to a new file of this machine, which only its user can read. An existing file is an
// error.
func WriteAccess(path string, access launch.Access) error {
	content, err := json.Marshal(access)
	if err != nil {
		return fmt.Errorf("write access file: %w", err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write access file: %w", err)
	}
	_, err = file.Write(append(content, '\n'))
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write access file: %w", errors.Join(err, os.Remove(path)))
	}
	return nil
}
